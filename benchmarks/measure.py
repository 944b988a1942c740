"""Time and memory of whole processes, and Markdown tables."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Run:
    """Measurements of a process: wall seconds, peak memory in MB, standard output."""

    seconds: float
    megabytes: float
    output: str


def run(command: Sequence[str]) -> Run:
    """Run a command and return its measurements.

    Raises:
        subprocess.CalledProcessError: The command failed.
    """
    # Allows bytecode files, as in an installed package: otherwise Python compiles every module in every run.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # On Linux, the peak memory of a process includes the memory of its parent at the fork, so the parent must
    # be small.
    watch = [sys.executable, "-IS", str(Path(__file__).with_name("watch.py"))]
    done = subprocess.run([*watch, *command], stdout=subprocess.PIPE, text=True, env=environment, check=True)
    status, seconds, megabytes, output = json.loads(done.stdout)
    if status:
        raise subprocess.CalledProcessError(status, command, output)
    return Run(seconds, megabytes, output)


def make_command(*arguments: str) -> list[str]:
    """Return a command that runs this Python interpreter."""
    return [sys.executable, *arguments]


def start_server() -> tuple[str, subprocess.Popen[bytes]]:
    """Start a server like `capeval server start`; return its address and process."""
    import httpx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "capeval_server", "start", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    address = f"http://127.0.0.1:{port}"
    for _ in range(400):
        try:
            httpx.get(f"{address}/api/challenges")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return address, server
    server.kill()
    raise SystemExit("the server did not start")


def run_in_turn(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Run]]:
    """Run commands in turn, so that other load on the machine affects all of them."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            print(f"  round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            runs[name].append(run(command))
    return runs


def seconds(runs: Sequence[Run]) -> float:
    """Return the median wall time in seconds."""
    return median(one.seconds for one in runs)


def megabytes(runs: Sequence[Run]) -> float:
    """Return the peak resident memory of all runs, in MB."""
    return max(one.megabytes for one in runs)


def describe_machine() -> str:
    """Return the processor model and the number of available cores."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
