"""What the model is shown of the tools: measured, fingerprinted, and held against the catalog."""

from tooltel.declarations.checks import find_problems
from tooltel.declarations.measuring import Declaration, measure

__all__ = ["Declaration", "find_problems", "measure"]
