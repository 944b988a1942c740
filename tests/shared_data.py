"""The public data that lies beside the project, for checks against numbers that others published."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(name: str) -> Path:
    """A folder of the shared data; skips the test, and says why, where it isn't there."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the real data of {name} is not beside the project ({folder} is missing)")
    return folder
