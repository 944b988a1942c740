"""`capeval data`: writes real captions to try capeval on."""

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
    folder: Annotated[Path, Argument(help="Folder to write to; created if it is missing.")],
    split: Annotated[CocoSplit, Option(help="Which images.")] = "val2014",
    seed: Seed = 0,
    force: Annotated[bool, Option(help="Replace existing files.")] = False,
) -> None:
    """Writes captions of COCO 2014 as files: references, and human results to score.

    One caption of each image, chosen by the seed, is the result; the others are its references. The
    captions come from the installed pycocoevalcap.
    """
    from capeval.data.held_out import hold_out
    from capeval.datasets import coco
    from capeval.formats import write_candidates, write_references

    paths = [folder / f"captions_{split}_{what}.json" for what in ("references", "human_results")]
    for path in paths:
        if path.exists() and not force:
            raise OptionError(f"{path} exists already; --force replaces it")
    with Steps(3) as steps:
        steps.next("Reading captions")
        references, candidates = hold_out(coco.captions(split), seed=seed)
        folder.mkdir(parents=True, exist_ok=True)
        steps.next("Writing references")
        write_references(references, paths[0])
        steps.next("Writing results")
        write_candidates(candidates, paths[1])
    deliver("".join(f"{path}\n" for path in paths), None)
