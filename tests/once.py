"""Folders that are created once per test run and shared by its processes."""

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
    """Create the folder of the test run, which its other processes inherit; delete it at the end."""
    if _VARIABLE not in os.environ:
        folder = os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="capeval-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder))


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder shared by the test run: the first process to need it creates it, others wait."""
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
