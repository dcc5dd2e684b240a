"""Write docs/reference/ and the README's table of frameworks, or with --check say what is stale and exit with 1."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tools.reference.frameworks import readme_block, with_block
from tools.reference.markdown import MARK
from tools.reference.pages import FOLDER, RUNBOOKS, render

ROOT = Path(__file__).resolve().parents[2]
README = "README.md"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    runbooks = {path.name: path.read_text("utf-8") for path in (root / RUNBOOKS).glob("*.md")}
    pages = render(runbooks)
    if (readme := _read(root / README)) is not None:
        pages[README] = with_block(readme, readme_block())
    stale = [path for path, text in pages.items() if _read(root / path) != text]
    gone = [path for path in sorted((root / FOLDER).glob("*.md")) if _is_left_over(path, root, pages)]
    if "--check" in arguments:
        for path in (*stale, *(path.relative_to(root).as_posix() for path in gone)):
            print(f"{path}: not as rendered: run make render, and commit what it wrote")
        return 1 if stale or gone else 0
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for path in stale:
        (root / path).write_text(pages[path], "utf-8")
    for each in gone:
        each.unlink()
    return 0


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _is_left_over(path: Path, root: Path, pages: dict[str, str]) -> bool:
    return path.relative_to(root).as_posix() not in pages and path.read_text("utf-8").startswith(MARK)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
