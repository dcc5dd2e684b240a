"""
Log line -> Outcome: what the frameworks write when a model's tool call goes wrong, and the judge that reads it.

Pure: nothing here reads a log. The rules of each framework stand in `frameworks/<framework>.toml`, with lines that
match and near-misses beside them in `frameworks/<framework>.jsonl`.
"""

from tooltel.match.judge import Judge, Match
from tooltel.match.records import Record
from tooltel.match.rules import Needs, Rule
from tooltel.match.signatures import find_signature_problems, rules_of_catalog
from tooltel.match.table import FRAMEWORKS, builtin_rules, known_writers

__all__ = [
    "FRAMEWORKS",
    "Judge",
    "Match",
    "Needs",
    "Record",
    "Rule",
    "builtin_rules",
    "find_signature_problems",
    "known_writers",
    "rules_of_catalog",
]
