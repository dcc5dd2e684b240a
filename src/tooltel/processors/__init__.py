"""Additions to the host's own log pipeline."""
