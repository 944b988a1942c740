"""Commands of a server that start fast: one process imports the server, and forks for each command.

Each command is a process of its own. Settings are read when the server is imported, so there is such a
process for each set of variables and of files that settings come from.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import selectors
import socket
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

__all__ = ["ForkedCommands"]

# The modules of the server that commands import.
MODULES = (
    "capeval_server.annotation.campaigns.creation",
    "capeval_server.annotation.releases.release_files",
    "capeval_server.annotation.review.worker_summaries",
    "capeval_server.commands",
    "capeval_server.hosting.services.definition_files",
)
# The files in the data folder that settings are read from.
SETTINGS = ("address", "secret-key", "secret-key.earlier")
_LONGEST = 1 << 20


class ForkedCommands:
    """A process that forks for each command of a server, with the variables and settings of its start."""

    def __init__(self, env: dict[str, str]) -> None:
        self._key = _key(env)
        self._requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        command = [sys.executable, __file__, str(other.fileno())]
        with other:
            process = subprocess.Popen(command, env=env, pass_fds=[other.fileno()])
        # It also ends when this object or this process does.
        self.end = weakref.finalize(self, _end, self._requests, process)

    def are_of(self, env: dict[str, str]) -> bool:
        """Whether a process that started now with some variables would have the same settings."""
        return self._key == _key(env)

    def run(self, arguments: list[str], given: str | None) -> subprocess.CompletedProcess[str]:
        """Run `python ARGUMENTS` (`-m MODULE ...` or `-c PROGRAM ...`), as `subprocess.run` does."""
        with (
            tempfile.TemporaryFile() as read,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as error,
        ):
            read.write((given or "").encode())
            read.seek(0)
            mine, other = socket.socketpair()
            with mine:
                with other:
                    request = json.dumps({"arguments": arguments, "folder": str(Path.cwd())}).encode()
                    files = [read.fileno(), out.fileno(), error.fileno(), other.fileno()]
                    socket.send_fds(self._requests, [request], files)
                code = mine.recv(16)
            assert code, "the process that forks commands has ended"
            texts = []
            for file in (out, error):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, int(code), *texts)


def _key(env: dict[str, str]) -> object:
    """Return the sources of settings: the variables, and the versions of the files in the data folder."""
    times: list[int | None] = []
    for name in SETTINGS:
        try:
            times.append((Path(env["CAPEVAL_SERVER_DATA"]) / name).stat().st_mtime_ns)
        except FileNotFoundError:
            times.append(None)
    return env.copy(), times


def _end(requests: socket.socket, process: subprocess.Popen[bytes]) -> None:
    requests.close()
    process.wait()


def _wait_for_command(requests: socket.socket) -> list[str]:
    """Fork for each request; return its arguments in the new process. End when there are no more requests."""
    running = selectors.DefaultSelector()
    running.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in running.select():
            if key.fileobj is not requests:
                pid, reply = key.data
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                running.unregister(key.fileobj)
                os.close(key.fd)
                with socket.socket(fileno=reply) as answered:
                    answered.send(str(code).encode())
                continue
            content, files, _, _ = socket.recv_fds(requests, _LONGEST, 4)
            if not content:
                raise SystemExit
            request = json.loads(content)
            pid = os.fork()
            if pid == 0:
                requests.close()
                running.close()
                for number, file in enumerate(files[:3]):
                    os.dup2(file, number)
                for file in files:
                    os.close(file)
                os.chdir(request["folder"])
                return list(request["arguments"])
            for file in files[:3]:
                os.close(file)
            running.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, files[3]))


def _run(kind: str, what: str, *arguments: str) -> None:
    """Run a module or a program as `python -m` and `python -c` do."""
    sys.argv = [kind, *arguments]
    sys.path[0] = str(Path.cwd())
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    # The folder of this file, with other modules named like those of packages.
    sys.path[0] = str(Path.cwd())
    import django
    from django.core.exceptions import ImproperlyConfigured

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capeval_server.config.settings")
    # Each command reports invalid settings.
    with suppress(ImproperlyConfigured):
        django.setup()
        for module in MODULES:
            importlib.import_module(module)
    _run(*_wait_for_command(socket.socket(fileno=int(sys.argv[1]))))
