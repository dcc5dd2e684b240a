"""Put real Prometheus and Alertmanager binaries of two generations under .servers/, for the tests.

`stable` is what this machine's own Debian release ships, `new` is Debian unstable's. Nothing is installed:
packages are downloaded with a private apt configuration (so no root is needed) and unpacked into

    .servers/{stable,new}/{prometheus,promtool,alertmanager,amtool}

The mirror is the one that this machine's apt already uses. Present generations are left alone; `--refresh`
renews them. Exit codes: 0 when both are there, or where there is no Debian apt (one line then says what to
do); 1 when apt failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / ".servers"
BINARIES = {
    "prometheus": "prometheus",
    "promtool": "promtool",
    "prometheus-alertmanager": "alertmanager",
    "amtool": "amtool",
}
KEYRINGS = ("debian-archive-keyring.gpg", "debian-archive-keyring.pgp")

# Debian's Alertmanager reads its default templates from here and does not start without them. An unpacked
# copy cannot have them there without root, so this one constant in the binary is replaced by a path of the
# same length through a file descriptor, which the start script opens on the unpacked templates.
TEMPLATES = Path("usr/share/prometheus/alertmanager")
TEMPLATES_CONSTANT = b"/usr/share/prometheus/alertmanager"
TEMPLATES_DESCRIPTOR = b"/proc/self/fd/9".ljust(len(TEMPLATES_CONSTANT), b"/")
START_SCRIPT = """\
#!/bin/sh
# Descriptor 9 is where this copy of Alertmanager looks for its default templates: see tools/servers.py.
here=$(dirname "$(readlink -f "$0")")
exec 9<"$here/alertmanager.d/templates"
exec "$here/alertmanager.d/alertmanager" "$@"
"""


NO_DEBIAN = (
    "servers: none fetched, as this is no Debian; put prometheus, promtool, alertmanager and amtool on PATH "
    "(for example: brew install prometheus alertmanager)"
)


class UnavailableError(Exception):
    """apt is there but did not deliver; the message is what to show."""


@dataclass(frozen=True)
class Apt:
    """An apt configuration of our own in `home`: one source, its lists, its cache. The machine's stays."""

    home: Path

    def configure(self, mirror: str, suite: str) -> None:
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.home / folder).mkdir(parents=True)
        keyring = next((path for name in KEYRINGS if (path := Path("/usr/share/keyrings", name)).exists()), None)
        options = f"[signed-by={keyring}] " if keyring else ""
        (self.home / "sources.list").write_text(f"deb {options}{mirror} {suite} main\n")
        self.run("apt-get", "update")

    def has(self, package: str) -> bool:
        command = self.command("apt-cache", "show", package)
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def download(self, packages: Sequence[str], to: Path) -> list[Path]:
        self.run("apt-get", "download", *packages, cwd=to)
        return sorted(to.glob("*.deb"))

    def command(self, program: str, *arguments: str) -> list[str]:
        options = {
            "Dir::Etc::sourcelist": str(self.home / "sources.list"),
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State": str(self.home),
            "Dir::State::lists": str(self.home / "lists"),
            "Dir::State::status": "/dev/null",  # what is installed here says nothing about what to unpack
            "Dir::Cache": str(self.home / "cache"),
            "APT::Sandbox::User": "root",  # no other user can write to our temporary folder
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "APT::Update::Error-Mode": "any",  # else a mirror that is out of reach is only a warning
        }
        flags = [flag for key, value in options.items() for flag in ("-o", f"{key}={value}")]
        return [program, *flags, *arguments]

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> None:
        done = subprocess.run(
            self.command(program, "-q", *arguments),
            cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise UnavailableError(f"{program} {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}".rstrip())


def debian_codename() -> str | None:
    """This machine's Debian release, or None where it is no Debian with apt."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return None
    release = platform.freedesktop_os_release()
    return release.get("VERSION_CODENAME") or "sid" if release.get("ID") == "debian" else None


def debian_mirror(codename: str) -> str:
    """The archive that this machine's apt reads `codename` from; UnavailableError without one."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "Created-By: Packages"], capture_output=True, text=True, check=False
    )
    releases = {codename, "stable", "testing", "unstable", "sid"}
    for target in index_targets(listed.stdout):
        # Other vendors use Debian's release names too. Origin is known only once the lists were fetched.
        ours = target.get("Origin", "") == "Debian" or target["Repo-URI"].rstrip("/").endswith("/debian")
        if ours and target.get("Component") == "main" and target.get("Release") in releases:
            return target["Repo-URI"]
    raise UnavailableError(f"apt's sources name no Debian archive for {codename}")


def index_targets(text: str) -> Iterator[dict[str, str]]:
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line)
        if "Repo-URI" in fields:
            yield fields


def unpack(packages: Sequence[Path], to: Path) -> None:
    """Take the four binaries out of `packages` into the folder `to`."""
    tree = to / "tree"
    for package in packages:
        subprocess.run(["dpkg", "-x", package, tree], check=True)
    for packaged, name in BINARIES.items():
        found = tree / "usr/bin" / packaged
        if not found.exists():
            raise UnavailableError(f"none of {', '.join(path.name for path in packages)} holds {packaged}")
        shutil.move(found, to / name)
    relocate_alertmanager(to, tree / TEMPLATES)
    (to / "packages.txt").write_text("".join(f"{path.name}\n" for path in packages))
    shutil.rmtree(tree)


def relocate_alertmanager(to: Path, templates: Path) -> None:
    binary = to / "alertmanager"
    content = binary.read_bytes()
    if TEMPLATES_CONSTANT not in content:
        return  # it brings its templates along
    home = to / "alertmanager.d"
    (home / "templates").mkdir(parents=True)
    for template in templates.glob("*.tmpl"):
        shutil.move(template, home / "templates" / template.name)
    binary.rename(home / "alertmanager")
    (home / "alertmanager").write_bytes(content.replace(TEMPLATES_CONSTANT, TEMPLATES_DESCRIPTOR))
    binary.write_text(START_SCRIPT)
    binary.chmod(0o755)


def versions(folder: Path) -> str:
    """What the unpacked binaries say they are; UnavailableError when one does not run."""
    said = []
    for name in ("prometheus", "promtool", "alertmanager", "amtool"):
        done = subprocess.run([folder / name, "--version"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UnavailableError(f"{name} does not run on this machine:\n{done.stderr}".rstrip())
        version = (done.stdout or done.stderr).split()[2]  # "prometheus, version 3.5.3 (branch: ..."
        said.append(f"{name} {version}")
    return ", ".join(said)


def fetch(generation: str, mirror: str, suite: str) -> None:
    """Make .servers/`generation` whole, or leave nothing of it behind."""
    with tempfile.TemporaryDirectory(prefix=f".{generation}-", dir=SERVERS) as work:
        home, downloads, folder = (Path(work, name) for name in ("apt", "downloads", "servers"))
        for path in (home, downloads, folder):
            path.mkdir()
        apt = Apt(home)
        apt.configure(mirror, suite)
        wanted = ["prometheus", "prometheus-alertmanager"]
        if apt.has("promtool"):  # part of the prometheus package in older releases
            wanted.append("promtool")
        unpack(apt.download(wanted, downloads), folder)
        print(f"servers: {generation} ({suite}): {versions(folder)}")
        target = SERVERS / generation
        if target.exists():
            target.rename(Path(work, "replaced"))
        folder.rename(target)


def install_for_demo() -> int:
    """Install the programs for good where they cannot be unpacked; what cannot be had is said in one line."""
    if all(shutil.which(name) for name in ("prometheus", "promtool")) and shutil.which("alertmanager"):
        return 0
    if shutil.which("brew") is not None:
        command = ["brew", "install", "--quiet", "prometheus", "alertmanager"]
    elif shutil.which("apt-get") is not None and os.geteuid() == 0:
        command = [
            "apt-get",
            "install",
            "-q",
            "-y",
            "--no-install-recommends",
            *("prometheus", "prometheus-alertmanager"),
        ]
    else:
        print(NO_DEBIAN)
        return 0
    print(f"servers: {' '.join(command)}")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"servers: that failed, and the demo goes on without: {last_line(done.stderr or done.stdout)}")
    return 0


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no reason was given")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--refresh", action="store_true", help="fetch again what is already there")
    parser.add_argument("--demo", action="store_true", help="what the demo needs: one generation, and never a failure")
    options = parser.parse_args()
    codename = debian_codename()
    suites = {"stable": codename, "new": "sid"}
    if options.demo:
        suites.pop("new" if codename else "stable")
    missing = [name for name in suites if options.refresh or not (SERVERS / name / "packages.txt").exists()]
    if not missing:
        return 0
    if codename is None:
        if options.demo:
            return install_for_demo()
        print(NO_DEBIAN)
        return 0
    SERVERS.mkdir(exist_ok=True)
    try:
        mirror = debian_mirror(codename)
        for generation in missing:
            fetch(generation, mirror, suites[generation] or "sid")
    except UnavailableError as problem:
        if options.demo:
            print(f"servers: not fetched, and the demo goes on without: {last_line(str(problem))}")
            return 0
        print(f"servers: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
