"""What the tests of the documentation share: its pages, their blocks, their links, and how a command is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import tomli

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
LINKED = (
    *PAGES,
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "alerts").rglob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
)

_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)  # indented ones are in a list
_NAME = re.compile(r"`([\w.]+\.(?:toml|py|yml|log|json))`[.:]?\s*$")
_SOURCE = re.compile(r"\]\((\S+\.py)\)")
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Block(NamedTuple):
    """
    One fenced block: its language, its text, and the file that the line before it names.

    `source` is the example that the paragraph before it links to: the block's lines stand there.
    """

    language: str
    text: str
    name: str | None
    source: str | None = None

    @property
    def commands(self) -> list[str]:
        """Its shell commands, a line each, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines() if self.language == "sh" else []
        return [command for line in lines if (command := line.partition("  #")[0].strip())]


def read_blocks(page: Path) -> list[Block]:
    """Every fenced block of *page*, in order."""
    text = page.read_text("utf-8")
    blocks = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        name, source = _NAME.search(before), _SOURCE.search(before)
        blocks.append(Block(match[2], dedent(match[3]), name[1] if name else None, source[1] if source else None))
    return blocks


def named_files(page: Path) -> dict[str, str]:
    """The files that *page* names, by name."""
    return {block.name: block.text for block in read_blocks(page) if block.name is not None}


def read_prose(page: Path) -> str:
    """The text of *page* without its fenced blocks and comments."""
    return _COMMENT.sub("", _FENCED.sub("", page.read_text("utf-8")))


def read_links(page: Path) -> list[str]:
    """Where the links and pictures of *page* lead."""
    return re.findall(r"\]\(([^)\s]+)\)", read_prose(page))


def read_anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of *page*."""
    found: dict[str, int] = {}
    anchors = set()
    for heading in re.findall(r"^#{1,6} (.+?)\s*$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        again = found.get(slug, 0)
        found[slug] = again + 1
        anchors.add(f"{slug}-{again}" if again else slug)
    return anchors


def run(
    command: str, folder: Path, *more_path: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run *command* in *folder* with this environment's programs first on the path."""
    program, arguments, surroundings = prepared(command, *more_path)
    return subprocess.run(
        [program, *arguments], cwd=folder, env={**surroundings, **(environment or {})}, capture_output=True, text=True,
        check=False, timeout=100,
    )  # fmt: skip


def prepared(command: str, *more_path: Path) -> tuple[str, list[str], dict[str, str]]:
    """The program of *command* as it is found, its arguments, and its environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), *map(str, more_path), os.environ["PATH"]])
    program, *arguments = shlex.split(command)
    return shutil.which(program, path=path) or program, arguments, {**os.environ, "PATH": path}


# What a fragment of a catalog may lean on: whatever of it the fragment does not say itself is added.
_AROUND: Mapping[str, str] = {
    "[catalog]": 'platform_owner = "platform"',
    "[owners.platform]": 'page = { webhook_configs = [{ url = "http://127.0.0.1:9099/notify/platform" }] }',
    "[owners.orders]": 'page = { webhook_configs = [{ url = "http://127.0.0.1:9099/notify/orders" }] }',
    "[owners.payments]": 'page = { webhook_configs = [{ url = "http://127.0.0.1:9099/notify/payments" }] }',
    "[profiles.support]": 'owner = "platform"',
    "[profiles.back_office]": 'owner = "orders"',
    "[tools.order_lookup]": 'owner = "orders"\ndescription = "Look up one order by its number, with its items."',
}


def whole_catalog(fragment: str) -> str:
    """The *fragment* of a catalog with what it leans on, so that it can be checked."""
    tomli.loads(fragment)
    more = (f"{head}\n{body}\n" for head, body in _AROUND.items() if head not in fragment)
    return "\n".join((fragment, *more))
