"""`capeval study build`: builds a dataset of captions and freezes a version of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import Seed
from capeval.cli.toolkit.output import Steps, deliver, examples, render

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 140
EXAMPLES = examples(
    "capeval study build collected.json plans.json --release 1.0 --output dataset",
    "capeval study build --verify dataset/1.0",
)


def run(
    captions: Annotated[Path | None, Argument(help="File of all captions collected.")] = None,
    plans: Annotated[Path | None, Argument(help="JSON with the plan of each split.")] = None,
    release: Annotated[str | None, Option(metavar="NAME", help="The version's name.")] = None,
    output: Annotated[
        Path, Option("--output", "-o", metavar="FOLDER", help="Folder of the versions.")
    ] = Path("dataset"),
    description: Annotated[str, Option(help="Description of the dataset, for its files.")] = "",
    seed: Seed = 0,
    verify: Annotated[
        Path | None, Option(metavar="FOLDER", help="Check a version against its checksums.")
    ] = None,
) -> None:
    """Builds splits with c5, c40 and the human baseline, and writes public and private COCO JSON.

    COCO and nocaps were built this way (Chen et al. 2015, section 2; nocaps, section 3.1). A version is
    written once and never changed.
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.datasets import building, versions
    from capeval.errors import OptionError
    from capeval.report import to_csv
    from capeval.studies.build.report import split_table

    if verify is not None:
        if captions is not None:
            raise OptionError("'--verify' must come without CAPTIONS (got both)")
        deliver(f"{verify}: all {versions.verify(verify)} files are unchanged\n", None)
        return
    if captions is None or plans is None or release is None:
        raise OptionError("CAPTIONS, PLANS and '--release' must all be given (one is missing)")
    with Steps(3) as steps:
        steps.next("Reading captions and plans")
        collected = references_from(captions)
        wanted = building.load_plans(plans, collected.image_ids, seed=seed)
        steps.next("Building splits")
        dataset = building.build_dataset(collected, wanted, seed=seed)
        steps.next("Writing")
        output.mkdir(parents=True, exist_ok=True)
        target = versions.freeze(dataset, output, version=release, description=description)
    grid = split_table(dataset)
    render(grid, "table", None, f"Version {release}")
    # Beside the folder of the version, in which every file has a checksum.
    deliver(to_csv(grid), output / f"{release}.csv")
    unused = sum(len(texts) for texts in dataset.unused.values())
    deliver(f"\n{unused:,} captions are in no split\n{target}\n", None)
