"""Public data in a folder next to the project, for comparisons with published numbers."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(name: str) -> Path:
    """Return a folder of the shared data; skip the test with a reason if it is missing."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the real data of {name} is missing ({folder})")
    return folder
