"""`capeval study build`: dataset building and frozen versions."""

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
    "capeval study build captions.csv plans.json --image-info project/image_info.json --release 1.0",
    "capeval study build --verify dataset/1.0",
)


def run(
    captions: Annotated[Path | None, Argument(help="File of all collected captions.")] = None,
    plans: Annotated[Path | None, Argument(help="JSON file with a plan for each split.")] = None,
    image_info: Annotated[
        Path | None,
        Option(
            help="Image list (image_info) with the fields of images, such as addresses and licenses.",
            show_default="fields in CAPTIONS",
        ),
    ] = None,
    release: Annotated[str | None, Option(metavar="NAME", help="Version name.")] = None,
    output: Annotated[Path, Option("--output", "-o", metavar="FOLDER", help="Folder for versions.")] = Path(
        "dataset"
    ),
    title: Annotated[
        str | None, Option(help="Dataset title.", show_default="name of the output folder")
    ] = None,
    description: Annotated[str, Option(help="Dataset description, for the files of the version.")] = "",
    seed: Seed = 0,
    verify: Annotated[
        Path | None, Option(metavar="FOLDER", help="Verify the checksums of a version.")
    ] = None,
) -> None:
    """Build splits with c5, c40 and human baseline, as public and private COCO JSON.

    COCO and nocaps were built in this way (Chen et al. 2015, section 2; nocaps, section 3.1). A version is
    written once and never changes, except its data card, its challenge.toml and the pages of the challenge.
    """
    from capeval.cli.toolkit.inputs import apply_listed_ids, open_input
    from capeval.datasets import building, versions
    from capeval.errors import OptionError
    from capeval.formats.caption_files import load_references
    from capeval.formats.images import load_image_fields, load_listed_fields
    from capeval.report import to_csv
    from capeval.studies.build.report import split_table

    if verify is not None:
        if captions is not None:
            raise OptionError("'--verify' can't be combined with CAPTIONS")
        deliver(f"{verify}: all {versions.verify(verify)} files are unchanged\n", None)
        return
    if captions is None or plans is None or release is None:
        raise OptionError("CAPTIONS, PLANS and '--release' are required (one is missing)")
    with Steps(3) as steps:
        steps.next("Reading captions and plans")
        file, name = open_input(captions)
        collected = load_references(file, name=name)
        fields, licenses = load_image_fields(file)
        if image_info is not None:
            collected = apply_listed_ids(image_info, collected)
            fields, licenses = load_listed_fields(image_info)
        wanted = building.load_plans(plans, collected.image_ids, seed=seed)
        steps.next("Building splits")
        dataset = building.build_dataset(collected, wanted, seed=seed)
        steps.next("Writing")
        output.mkdir(parents=True, exist_ok=True)
        texts = versions.DatasetTexts(title=title or output.absolute().name, description=description)
        target = versions.freeze(
            dataset,
            output,
            version=release,
            texts=texts,
            image_info=fields,  # type: ignore[arg-type] # Ids are all integers or all strings.
            licenses=licenses,
        )
    grid = split_table(dataset)
    render(grid, "table", None, f"Version {release}")
    # Outside the version's folder, in which every file has a checksum.
    deliver(to_csv(grid), output / f"{release}.csv")
    unused = sum(len(texts) for texts in dataset.unused.values())
    deliver(f"\n{unused:,} captions are in no split\n{target}\n", None)
