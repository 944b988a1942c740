"""Public data in a folder next to the project, for comparisons with published numbers."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(name: str) -> Path:
    """A folder of the shared data; skips the test, and says why, where it isn't there."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the real data of {name} is missing ({folder})")
    return folder
