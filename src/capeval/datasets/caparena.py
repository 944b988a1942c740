"""Original file of CapArena (Cheng et al. 2025): battles of detailed captions."""

from __future__ import annotations

from collections.abc import Mapping

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import TEXT, Field, iterate_rows, read_json
from capeval.formats.io.sources import File, add_path_to_errors
from capeval.formats.judgments.plans import Pair

__all__ = ["load_caparena"]

_FIELDS: Mapping[str, Field] = dict.fromkeys(
    ("img", "caption1", "caption2", "source1", "source2", "winner", "ref"), TEXT
)
_HUMAN = "human"


def load_caparena(file: File) -> tuple[Pair, ...]:
    """Read the battles of `caparena_annots_eval.json`.

    Each entry has `img`, `caption1`, `caption2`, their authors `source1` and `source2`, the `winner` (one of
    the two authors, or another text for a tie) and the human description `ref`. As in the authors' evaluation
    of metrics, battles of people's captions are left out (github.com/njucckevin/CapArena, commit c251cdd,
    `vlm_as_a_judge.py`, lines 58 to 81).

    Args:
        file: The path of the file, or its bytes.

    Raises:
        FormatError: The file is invalid; the error names the entry.
        OSError: The file can't be read.

    Example:
        >>> import json
        >>> from capeval.datasets.caparena import load_caparena
        >>> battle = {"img": "1.jpg", "caption1": "A dog.", "caption2": "A cat.", "ref": "A brown dog."}
        >>> sources = {"source1": "lstm", "source2": "template", "winner": "lstm"}
        >>> [pair] = load_caparena(json.dumps([{**battle, **sources}]).encode())
        >>> pair.first_by, pair.votes, pair.references
        ('lstm', (1,), ('A brown dog.',))
    """
    with add_path_to_errors(file):
        pairs = tuple(
            Pair(
                image=row["img"],
                first=row["caption1"],
                second=row["caption2"],
                first_by=row["source1"],
                second_by=row["source2"],
                references=(row["ref"],),
                votes=({row["source1"]: 1, row["source2"]: -1}.get(row["winner"], 0),),
            )
            for _, row in iterate_rows(read_json(file), None, _FIELDS)
            if _HUMAN not in (row["source1"], row["source2"])
        )
        if not pairs:
            message = "the file must contain at least one battle of two models"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
        return pairs
