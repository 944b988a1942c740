"""`capeval study priming`: captions collected with and without keywords."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.errors import FormatError, OptionError
from capeval.studies.priming.options import PrimingOptions

if TYPE_CHECKING:
    from capeval.data.captions import ImageId

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 135
EXAMPLES = examples(
    "capeval study priming plain/captions_all.json primed/captions_all.json",
    "capeval study priming plain.json primed.json --keywords project/items.jsonl --output priming",
)


def run(
    plain: Annotated[Path, Argument(help="Captions by annotators who saw no keywords.")],
    primed: Annotated[Path, Argument(help="Captions of the same images by annotators who saw keywords.")],
    keywords: Annotated[
        Path | None,
        Option(
            help="Items of the campaign (items.jsonl), or its release.", show_default="keywords in PRIMED"
        ),
    ] = None,
    *,
    options: PrimingOptions,
    output: Folder = None,
) -> None:
    """Compare captions collected with and without keywords (nocaps, section 3.1 and Figure 3).

    The tables show how often captions name the keywords, the length and diversity of captions, and paired
    differences with confidence intervals over images. A keyword is also named by plurals and synonyms.
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.formats.keywords import load_keywords
    from capeval.studies.priming import study_priming
    from capeval.studies.priming.report import report

    with Steps(2) as steps:
        steps.next("Reading captions and keywords")
        sets = references_from(plain), references_from(primed)
        known = load_keywords(keywords) if keywords is not None else _read_own_keywords(primed)
        steps.next("Comparing captions")
        study = study_priming(*sets, known, options)
    write_study_report(report(study), output)


def _read_own_keywords(captions: Path) -> dict[ImageId, tuple[str, ...]]:
    """Return the keywords in a release of captions.

    Raises:
        OptionError: The file has no keywords.
    """
    from capeval.formats.keywords import load_keywords

    try:
        return load_keywords(captions)
    except FormatError as error:
        if error.field == "keywords":
            raise
        raise OptionError(f"{captions} has no keywords of its images; add '--keywords items.jsonl'") from None
