"""Commands of `capeval` in forked processes.

Importing capeval and its dependencies takes most of the time of a short command, and the tests run about a
thousand commands. One process per test process imports the modules and forks for each command.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tests.waiting import PATIENCE

__all__ = ["run_capeval"]

# Python and the C library read these variables when a process starts.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS_", "MALLOC_")
_PRELOADED = ("capeval.cli.studies", "capeval.metrics", "capeval.report", "numpy.random", "rich.progress")
_LOCK = threading.Lock()


def run_capeval(
    *arguments: str,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    input: bytes = b"",  # noqa: A002 - as in `subprocess.run`.
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m capeval` and return its output.

    Args:
        arguments: The arguments of the command.
        env: The environment; by default that of this process.
        cwd: The current folder; by default that of this process.
        input: The standard input.
    """
    command = [sys.executable, "-m", "capeval", *arguments]
    environment = dict(os.environ if env is None else env)
    if sys.platform != "linux" or _select_start(environment) != _select_start(dict(os.environ)):
        return subprocess.run(
            command,
            env=environment,
            cwd=cwd,
            input=input,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
    request = {"arguments": arguments, "env": environment, "cwd": str(cwd or Path.cwd())}
    with tempfile.TemporaryFile() as stdin, ThreadPoolExecutor(2) as threads:
        stdin.write(input)
        stdin.seek(0)
        pipes = [os.pipe() for _ in ("stdout", "stderr")]
        outputs = [threads.submit(_read_all, reading) for reading, _ in pipes]
        try:
            with _LOCK:
                code = _get_forker().run(request, [stdin.fileno(), *(writing for _, writing in pipes)])
        finally:
            for _, writing in pipes:
                os.close(writing)
        return subprocess.CompletedProcess(command, code, *(each.result() for each in outputs))


def _select_start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


class _Forker:
    """The process that forks."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE)
        # It ends when this process does, because its socket is then closed.
        code = f"from tests.forked_commands import _serve; _serve({other.fileno()})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[other.fileno()],
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )
        other.close()

    def run(self, request: Mapping[str, object], files: list[int]) -> int:
        """Return the exit code of a command; negative for a signal.

        Raises:
            TimeoutError: The command hangs. It and this process were killed.
        """
        with tempfile.TemporaryFile() as message:
            message.write(json.dumps(request).encode())
            message.seek(0)
            socket.send_fds(self._socket, [b"run"], [message.fileno(), *files])
            try:
                return int(self._socket.recv(64))
            except TimeoutError:
                os.killpg(self.process.pid, signal.SIGKILL)
                _get_forker.cache_clear()
                raise


@cache
def _get_forker() -> _Forker:
    return _Forker()


def _serve(descriptor: int) -> None:
    """Fork for each request, one after the other, until the socket is closed."""
    import importlib

    for name in _PRELOADED:
        importlib.import_module(name)
    connection = socket.socket(fileno=descriptor)
    while True:
        message, files, _, _ = socket.recv_fds(connection, 64, 4)
        if not message:
            return
        child = os.fork()
        if not child:
            connection.close()
            _run_child(*files)
        for each in files:
            os.close(each)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run_child(message: int, *files: int) -> None:
    """Run the command as a new process would, and exit."""
    import atexit
    import runpy

    with open(message, "rb") as file:
        request = json.load(file)
    for target, each in enumerate(files):
        os.dup2(each, target)
        os.close(each)
    for name, target in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        _open_stream(name, target)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["capeval", *request["arguments"]]
    sys.path[0] = request["cwd"]
    code = 0
    try:
        runpy.run_module("capeval", run_name="__main__", alter_sys=True)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _open_stream(name: str, descriptor: int) -> None:
    """Open a standard stream with the encoding that it has in a new process."""
    before = getattr(sys, name)
    mode = "r" if name == "stdin" else "w"
    stream = open(descriptor, mode, encoding=before.encoding, errors=before.errors, closefd=False)  # noqa: SIM115
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)
