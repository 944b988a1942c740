"""Creation of the SQLite and PostgreSQL backups in `tests/server/fixtures/`.

This was run once. Every later version of the server must be able to open these backups, so they must not be
created again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from scripts.goldens import story
from scripts.goldens.determinism import fix_clock
from scripts.server_fixture.backup import back_up_postgresql, back_up_sqlite
from scripts.server_fixture.rows import add_rows


def main() -> None:
    """Create both backups."""
    parser = argparse.ArgumentParser(prog="python -m scripts.server_fixture", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for the archives")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    clock = fix_clock()
    with tempfile.TemporaryDirectory(prefix="capeval-fixture-") as scratch:
        story.prepare(clock, Path(scratch))
        add_rows(story.run_story())
        data = Path(scratch) / "data"
        back_up_sqlite(data, folder / "sqlite.tar.xz")
        back_up_postgresql(data, folder / "postgresql.tar.xz")


if __name__ == "__main__":
    main()
