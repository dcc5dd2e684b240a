"""
The tools of the support desk, a module per team: plain Python that knows nothing of how it is recorded.

`Desk` wraps them. Parameters carry their description in `Annotated`, which `declarations` turns into what the
model is shown.
"""

from tooltel.demo.desk.desk import Desk

__all__ = ["Desk"]
