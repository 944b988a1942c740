"""Recording of goldens: `python -m scripts.goldens.recorder FOLDER NAME...`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from scripts.goldens import story
from scripts.goldens.determinism import fix_clock, reseed
from scripts.goldens.registry import load_kinds


def main(folder: Path, names: list[str]) -> None:
    """Record goldens.

    Args:
        folder: Folder for the recordings, with one subfolder per golden.
        names: Names of the goldens.
    """
    clock = fix_clock()
    goldens = load_kinds()
    with tempfile.TemporaryDirectory(prefix="capeval-goldens-") as scratch:
        story.prepare(clock, Path(scratch))
        for name in names:
            reseed(name)
            place = folder / name
            place.mkdir(parents=True)
            goldens[name].write(place)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
