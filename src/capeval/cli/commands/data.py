"""The `capeval data` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import Seed
from capeval.cli.toolkit.output import Steps, deliver, examples
from capeval.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples("capeval data coco", "capeval data coco --split train2014 --seed 7")


CocoSplit = Literal["val2014", "train2014"]


def run(
    folder: Annotated[Path, Argument(help="Output folder, created if missing.")],
    split: Annotated[CocoSplit, Option(help="COCO split to use.")] = "val2014",
    seed: Seed = 0,
    force: Annotated[bool, Option(help="Replace existing files.")] = False,
) -> None:
    """Write COCO 2014 sample files: references, and human results to score.

    For each image, the seed selects one caption as the result; the others are its references. The captions
    come from the installed pycocoevalcap.
    """
    from capeval.data.held_out import hold_out
    from capeval.datasets import coco
    from capeval.formats import write_candidates, write_references

    paths = [folder / f"captions_{split}_{what}.json" for what in ("references", "human_results")]
    for path in paths:
        if path.exists() and not force:
            raise OptionError(f"{path} already exists; use --force to replace it")
    with Steps(3) as steps:
        steps.next("Reading captions")
        references, candidates = hold_out(coco.load_captions(split), seed=seed)
        folder.mkdir(parents=True, exist_ok=True)
        steps.next("Writing references")
        write_references(references, paths[0])
        steps.next("Writing results")
        write_candidates(candidates, paths[1])
    deliver("".join(f"{path}\n" for path in paths), None)
