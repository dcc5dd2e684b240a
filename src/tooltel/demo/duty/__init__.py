"""
A pager to look at: takes Alertmanager's webhooks, and shows on a page who was told of what.

It stands in for a team's paging service where routes are tried out. What it shows is other people's text.
"""

from __future__ import annotations

from tooltel.demo.duty.rota import Notice, Rota
from tooltel.demo.duty.serving import PORT, PagerPage

__all__ = ["PORT", "Notice", "PagerPage", "Rota"]
