"""`capeval study judging`: human judgments of systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import examples
from capeval.cli.toolkit.study_output import Folder, write_columns, write_study_report
from capeval.studies.judging.options import JudgingOptions

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 90
EXAMPLES = examples(
    "capeval study judging M1=m1.csv M2=m2.csv --output judged",
    "capeval study judging M3=correctness.csv M4=detail.csv --release 2026-11",
)


def run(
    ratings: Annotated[
        list[str],
        Argument(
            metavar="QUESTION=FILE...",
            help="M1 to M5, P, R or THumB, and a CSV with image_id, caption, rating_1..., system; or a"
            " release's judgments.csv.",
        ),
    ],
    release: Annotated[str, Option(help="Release name of these judgments, for human.csv.")] = "",
    *,
    options: JudgingOptions,
    output: Folder = None,
) -> None:
    """Rate systems by human answers, with confidence intervals over images.

    M1 is 1 (better than a person's caption), 0 (equal) or -1 (worse). M2 is 1 (a person) or 0 (a machine). M5
    is 1 (the same) or 0. M3, M4, P and R range from 1 to 5.

    With M1 and M2, the tables include the points of COCO's 2015 challenge. --output also writes
    differences.csv, which compares each system with the next, and human.csv, an input of 'study correlation'.
    """
    from capeval.formats.judgments.ratings import load_ratings
    from capeval.studies.judging import judge, leaderboard_points
    from capeval.studies.judging.report import report

    columns = [
        judge(load_ratings(path, question=question), question, options)
        for question, path in _parse_files(ratings).items()
    ]
    values = {
        column.question.name: {name: row.interval.score for name, row in column.rows.items()}
        for column in columns
        if column.question.name in ("M1", "M2")
    }

    write_study_report(
        report(columns, leaderboard_points(values) if len(values) == 2 else ()),
        output,
        write=lambda folder: write_columns(columns, folder, release=release),
    )


def _parse_files(texts: Sequence[str]) -> dict[str, Path]:
    from capeval.errors import OptionError
    from capeval.studies.judging import QUESTIONS

    files: dict[str, Path] = {}
    for text in texts:
        question, _, path = text.partition("=")
        if question not in QUESTIONS or not path or question in files:
            raise OptionError(
                "arguments must be QUESTION=FILE, with each question once"
                f" from {', '.join(QUESTIONS)} (got {text!r});"
                " count votes on pairs and triplets with 'capeval study votes'"
            )
        files[question] = Path(path)
    if "M4" in files and "M3" not in files:
        raise OptionError(
            "M4 requires M3: captions of other images have more detail than most systems' captions"
            " (got only M4)"
        )
    return files
