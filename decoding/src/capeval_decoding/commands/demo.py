"""`capeval baselines demo`: language-model captions that mention given objects."""

from __future__ import annotations

import time
from typing import Annotated

from capeval.toolkit.command_line import Option, Seed, Steps, deliver, examples, render

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval baselines demo", 'capeval baselines demo --objects "red panda,bench" --objects harp'
)


def run(
    objects: Annotated[
        list[str] | None,
        Option(
            metavar="CLASS,...", help="Open Images classes of one caption; repeatable.", show_default="random"
        ),
    ] = None,
    count: Annotated[int, Option(min=1, help="Number of captions with random classes.")] = 10,
    seed: Seed = 0,
) -> None:
    """Generate captions that mention given objects, with a COCO language model.

    The command demonstrates the constrained search; it is not a captioner and uses no images.
    """
    from capeval.datasets import coco
    from capeval.datasets.word_forms import load_word_forms
    from capeval.report import Cell, Grid
    from capeval.tokenizers import tokenize
    from capeval_decoding.demonstration import Demonstration

    with Steps(3) as steps:
        steps.next("Reading the captions of COCO val2014")
        captions = [text for texts in coco.load_captions("val2014").values() for text in texts]
        steps.next("Training the language model")
        demonstration = Demonstration(tokenize(captions), load_word_forms())
        steps.next("Searching for captions")
        begin = time.perf_counter()
        wanted = [tuple(each.split(",")) for each in objects or ()] or demonstration.draw_classes(
            count, seed=seed
        )
        found = [demonstration.make_example([name.strip() for name in names]) for names in wanted]
        seconds = time.perf_counter() - begin
        usual = demonstration.make_example(())
    rows = [
        ("(none)", usual.caption),
        *((", ".join(each.objects), each.caption or "(no caption)") for each in found),
    ]
    grid = Grid(
        columns=("Objects", "Caption"),
        rows=tuple(tuple(Cell(value=value) for value in row) for row in rows),
    )
    render(grid, "table", None)
    met = sum(each.caption is not None for each in found)
    deliver(
        f"\nCaptions that mention all of their objects: {met} of {len(found)}, in {seconds:.1f} s.\n", None
    )
