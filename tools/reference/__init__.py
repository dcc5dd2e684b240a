"""The reference pages in docs/reference/, written from the tables of the code: `python -m tools.reference`."""
