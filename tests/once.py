"""What is made once in a test run, for all of its processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["give_folder", "made_once"]

# The variable with the folder of the test run, which the run's other processes inherit.
_VARIABLE = "CAPEVAL_TEST_RUN"


def give_folder(config: pytest.Config) -> None:
    """Makes the folder of the test run, to be deleted at its end; its other processes inherit it."""
    if _VARIABLE not in os.environ:
        folder = os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="capeval-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder))


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the whole test run: the first process that needs it makes it, and others wait for that."""
    folder = Path(os.environ[_VARIABLE]) / name
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder
