"""Write the pages of the documentation that compare the papers with computed results.

Usage: `python -m scripts.paper_pages --data FOLDER [PAPER ...]`, with the folder of the published data.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

RESEARCH = Path(__file__).parents[1] / "docs" / "research"

# The number of colors per figure. More colors would only increase the file size.
_COLORS = 64


def list_commands(data: Path) -> dict[str, list[str]]:
    """Return the arguments of each paper's study."""
    return {
        "coco-paper": [],
        "cider-paper": [
            *("--pascal", f"{data}/pascal50s"),
            *("--abstract", f"{data}/abstract50s"),
            *("--flickr8k", f"{data}/flickr8k"),
        ],
        "nocaps-paper": [f"{data}/nocaps/nocaps_val_captions.json.gz"],
    }


def write_page(name: str, arguments: list[str], folder: Path) -> str:
    """Run a study, copy its figures to a folder and return the page."""
    with tempfile.TemporaryDirectory() as place:
        output = Path(place)
        command = [sys.executable, "-m", "capeval", "study", name, *arguments, "--output", str(output)]
        subprocess.run(command, check=True)  # noqa: S603 - our own command.
        copy_figures(output, folder / "figures" / name)
        return adapt_page(name, (output / "report.md").read_text(encoding="utf-8"))


def copy_figures(output: Path, folder: Path) -> None:
    """Copy the figures of a study as `NAME-light.png` and `NAME-dark.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(output.glob("*.png")):
        stem = path.stem if path.stem.endswith("-dark") else f"{path.stem}-light"
        with Image.open(path) as figure:
            few = figure.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE)
            few.save(folder / f"{stem}.png", optimize=True)


def adapt_page(name: str, report: str) -> str:
    """Return the page of the documentation for the report of a study."""
    text = re.sub(r"\]\(([\w-]+)\.svg\)", rf"](figures/{name}/\1-light.png)", report)
    title, rest = text.split("\n", 1)
    return f"{title}\n\nThis page is the output of [`capeval study {name}`](../studies/papers.md).\n{rest}"


def main() -> None:
    """Write the pages of the given papers, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", metavar="PAPER")
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    commands = list_commands(options.data)
    for name in options.papers or commands:
        (RESEARCH / f"{name}.md").write_text(write_page(name, commands[name], RESEARCH), encoding="utf-8")


if __name__ == "__main__":
    main()
