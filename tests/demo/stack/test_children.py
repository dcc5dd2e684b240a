"""A server never outlives whoever started it, and says why it would not start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tooltel.demo.stack.children import Child, ServerError

SERVER = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def quiet(folder: Path, program: str = "import signal; signal.pause()") -> Child:
    return Child("quiet", [sys.executable, "-c", program], log=folder / "log", ready="http://127.0.0.1:9/")


def test_a_server_ends_with_its_context(tmp_path: Path) -> None:
    with quiet(tmp_path) as child:
        assert child.pid
        child.demand_alive()
    assert not is_running(child.pid)


def test_a_server_ends_when_the_block_raises(tmp_path: Path) -> None:
    child = quiet(tmp_path)
    with pytest.raises(KeyboardInterrupt), child:
        raise KeyboardInterrupt
    assert child.pid
    assert not is_running(child.pid)


def test_a_server_that_ignores_the_request_to_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tooltel.demo.stack.children.PATIENCE", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    with quiet(tmp_path, deaf) as child:
        while "deaf" not in child.log:
            child.demand_alive()
    assert child.pid
    assert not is_running(child.pid)


def test_a_server_that_ends_by_itself_is_told_with_its_last_words(tmp_path: Path) -> None:
    program = r"import sys; print('first'); sys.exit('port taken \x1b[31m')"
    with quiet(tmp_path, program) as child, pytest.raises(ServerError) as caught:
        child.wait_until_ready(seconds=30)
    assert "quiet ended (code 1); it said last:\n  first\n  port taken \\x1b[31m" in str(caught.value)


def test_a_server_that_never_gets_ready_is_given_up(tmp_path: Path) -> None:
    with quiet(tmp_path) as child, pytest.raises(ServerError, match=r"was not ready after 0\.1 s"):
        child.wait_until_ready(seconds=0.1)


def serving(port: int, folder: Path) -> Child:
    command = [sys.executable, "-c", SERVER, str(port)]
    return Child("serving", command, log=folder / "log", ready=f"http://127.0.0.1:{port}/")


def test_a_server_is_ready_when_its_address_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as asked:
        port = asked.getsockname()[1]
    with serving(port, tmp_path) as child:
        child.wait_until_ready(seconds=30)
        child.demand_alive()


def test_somebody_else_who_answers_at_the_address_does_not_make_a_dead_server_ready(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as asked:
        port = asked.getsockname()[1]
    with serving(port, tmp_path) as other:
        other.wait_until_ready(seconds=30)
        never_started = Child("ours", [], log=tmp_path / "other", ready=f"http://127.0.0.1:{port}/")
        with pytest.raises(ServerError, match="ours ended"):
            never_started.wait_until_ready(seconds=30)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux' kernel ends the children of a killed process")
def test_a_server_ends_when_its_parent_is_killed_outright(tmp_path: Path) -> None:
    program = (
        "import sys, signal; from pathlib import Path; from tooltel.demo.stack.children import Child\n"
        "command = [sys.executable, '-c', 'import signal; print(1, flush=True); signal.pause()']\n"
        "with Child('c', command, log=Path(sys.argv[1]), ready='http://127.0.0.1:9/') as child:\n"
        "    while '1' not in child.log: child.demand_alive()\n"
        "    print(child.pid, flush=True); signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "log"], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    # Whoever adopts it has to collect it, too: until then it is there as a zombie.
    while is_running(pid) and "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        pass
