"""What `import capeval` gives, and that it gives it late."""

from __future__ import annotations

import subprocess
import sys

import pytest

import capeval


def test_every_name_is_there() -> None:
    assert capeval.__all__ == sorted(capeval.__all__, key=lambda name: (name[0].islower(), name))
    for name in capeval.__all__:
        assert getattr(capeval, name) is not None
    assert set(capeval.__all__) <= set(dir(capeval))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'capeval' has no attribute 'Spyce'"):
        _ = capeval.Spyce  # type: ignore[attr-defined]


def test_help_imports_nothing_that_scores() -> None:
    code = (
        "import sys; from capeval.cli.app import app\n"
        "try: app(['score', '--help'])\n"
        "except SystemExit: pass\n"
        "print('numpy' in sys.modules, 'matplotlib' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.split() == [b"False", b"False"]
