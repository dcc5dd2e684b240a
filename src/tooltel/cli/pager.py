"""The verb `pager`: a page that shows who was told of what, where routes are tried out."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import click

from tooltel.cli import FINE
from tooltel.cli.codes import epilog
from tooltel.demo.duty import PORT, PagerPage
from tooltel.demo.stopping import sigterm_interrupts

_EXAMPLES = """
tooltel pager                            then send Alertmanager's webhooks to
                                         http://127.0.0.1:9099/notify/RECEIVER
tooltel pager --runbooks alerts/runbooks
"""


@click.command(epilog=epilog("pager", _EXAMPLES))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; this one nobody else reaches.")
@click.option(
    "--runbooks",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of runbooks, shown under /runbooks.",
)
def pager(port: int, host: str, runbooks: Path | None) -> int:
    """Take Alertmanager's webhooks and show them by owner: a stand-in for a paging service. Keeps nothing on disk."""
    with suppress(KeyboardInterrupt), sigterm_interrupts(), PagerPage(host=host, port=port, runbooks=runbooks) as page:
        click.echo(f"pages         {page.url}\nCtrl-C ends it.", err=True)
        threading.Event().wait()
    return FINE
