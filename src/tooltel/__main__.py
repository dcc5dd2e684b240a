"""Run the command line with `python -m tooltel`."""

from __future__ import annotations

import sys

from tooltel.cli import main

sys.exit(main())
