"""The `capeval data` commands: named benchmarks, and sample files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval.cli.toolkit.click_commands import Argument, Command, Group, Option
from capeval.cli.toolkit.options import FormatOption, Seed
from capeval.cli.toolkit.output import Steps, deliver, examples, render
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.report import Grid

__all__ = ["app"]


CocoSplit = Literal["val2014", "train2014"]
BenchmarkArgument = Annotated[str, Argument(metavar="NAME", help="Name of the benchmark.")]


def list_benchmarks(form: FormatOption = "table") -> None:
    """List the named benchmarks of 'capeval score -t NAME', and how to add missing captions."""
    from capeval.datasets.benchmarks import BENCHMARKS

    if form != "json":
        render(_create_table(), form, None)
        return
    rows = [
        {
            "name": each.name,
            "title": each.title,
            "images": each.images,
            "references": list(each.references),
            "source": each.source,
            "license": each.license,
            "available": each.is_available,
            "command": None if each.is_available else each.command,
        }
        for each in BENCHMARKS.values()
    ]
    deliver(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", None)


def _create_table() -> Grid:
    from capeval.datasets.benchmarks import BENCHMARKS
    from capeval.report import Cell, Grid

    cells, commands = [], []
    for each in BENCHMARKS.values():
        values = (each.name, f"{each.images:,}", each.reference_counts, each.source)
        cells.append(tuple(Cell(value=value) for value in (*values, "yes" if each.is_available else "no")))
        if not each.is_available:
            commands.append(f"{each.name}: {each.command}")
    notes = ["Commands that make the missing captions available:", *commands] if commands else []
    columns = ("Name", "Images", "References", "Source", "Available")
    return Grid(columns=columns, rows=tuple(cells), notes=tuple(notes))


def add(
    name: BenchmarkArgument,
    file: Annotated[Path, Argument(help="Captions, as their authors publish them.")],
    domains: Annotated[
        Path | None, Option(help="File of image domains, if the captions of nocaps have none.")
    ] = None,
    image_list: Annotated[
        Path | None, Option(help="File names of the split's images, one per line, if FILE has no splits.")
    ] = None,
) -> None:
    """Register the captions of a benchmark once, from a file.

    The command checks the numbers of images and references, and stores a copy in capeval's data folder. The
    environment variable CAPEVAL_DATA sets this folder.
    """
    from capeval.data.scores import Digest
    from capeval.datasets import benchmarks

    with Steps(1) as steps:
        steps.next("Reading captions")
        is_replaced = benchmarks.get_benchmark(name).is_available
        path = benchmarks.add(name, file, domains=domains, image_list=image_list)
        loaded = benchmarks.load(name)
    about = f"{len(loaded.references):,} images, fingerprint {Digest(loaded.references)}"
    lines = [f"{name} is available: {about}", *loaded.notes]
    if image_list is not None:
        lines.append(
            f"The images are those in {image_list}, which was not checked: scores are comparable only with"
            " those of the same fingerprint."
        )
    verb = "replaced the earlier ones in" if is_replaced else "were copied to"
    lines.append(f"The captions {verb} {path}")
    deliver("".join(f"{line}\n" for line in lines), None)


def remove(name: BenchmarkArgument) -> None:
    """Delete the registered captions of a benchmark."""
    from capeval.datasets import benchmarks

    deliver(f"{benchmarks.remove(name)} was deleted\n", None)


def sample(
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


_ADD = (
    "capeval data add nocaps-val nocaps_val_4500_captions.json",
    "capeval data add flickr8k-test dataset_flickr8k.json",
    "capeval data add flickr8k-test Flickr8k.token.txt --image-list Flickr_8k.testImages.txt",
)
app = Group(
    name="data",
    no_args_is_help=True,
    help="List and add the named benchmarks of 'capeval score -t', and write sample files.",
    epilog=examples("capeval data list", _ADD[0], "capeval data sample coco"),
    commands=[
        Command(list_benchmarks, "list", examples("capeval data list", "capeval data list --format json")),
        Command(add, "add", examples(*_ADD)),
        Command(remove, "remove", examples("capeval data remove nocaps-val")),
        Command(
            sample,
            "sample",
            examples("capeval data sample coco", "capeval data sample coco --split train2014 --seed 7"),
        ),
    ],
)
