"""Commands in forked processes have the output of commands in new ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked_commands import run_capeval
from tests.waiting import PATIENCE


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("--version",), b""),
        (("tokenize", "-"), "A dog, caf\xe9.\n".encode()),
        (("tokenize", "missing.txt"), b""),
        (("score", "--no-such-option"), b""),
    ],
)
def test_output_and_exit_code_are_those_of_a_new_process(
    arguments: tuple[str, ...], given: bytes, tmp_path: Path
) -> None:
    environment = {**os.environ, "CAPEVAL_CACHE": str(tmp_path)}
    new = subprocess.run(
        [sys.executable, "-m", "capeval", *arguments],
        input=given,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    forked = run_capeval(*arguments, input=given, env=environment, cwd=tmp_path)
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)
    assert forked.stdout or forked.stderr
