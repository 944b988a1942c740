"""The `capeval scene-graph` command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.lines import read_text, split_lines
from capeval.cli.toolkit.options import Output
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples
from capeval.errors import CaptionError, OptionError

if TYPE_CHECKING:
    from capeval._native import SentenceStages

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    'echo "A man rides a red bike." | capeval scene-graph -',
    "capeval scene-graph captions.txt --format jsonl -o graphs.jsonl",
    "capeval scene-graph captions.txt --format jsonl --stages --raw",
)


SceneGraphFormat = Literal["text", "jsonl"]


def run(
    file: Annotated[Path, Argument(help="File with one caption per line (- for standard input).")],
    form: Annotated[
        SceneGraphFormat,
        Option("--format", "-f", help="Output format: readable text, or one JSON object per caption."),
    ] = "text",
    stages: Annotated[
        bool, Option(help="Add tokens, tags, lemmas, trees and dependencies (requires --format jsonl).")
    ] = False,
    raw: Annotated[
        bool,
        Option("--raw/--tokens", help="Parse the original captions, or their tokens as in scoring."),
    ] = False,
    longest: Annotated[
        int, Option(min=1, max=800, help="Maximum length of sentences to parse, in tokens.")
    ] = 400,
    output: Output = None,
) -> None:
    """Write the scene graph of each caption as tuples.

    A tuple of one text is an object, of two an object with an attribute, and of three a relation between two
    objects. Tuples are in the order of the reference implementation. They are computed for each caption
    separately, before synonyms are merged between captions.
    """
    from capeval.cli.toolkit.resource_setup import build_resources
    from capeval.tokenizers import tokenize

    if stages and form != "jsonl":
        raise OptionError(f"--stages requires --format jsonl (got --format {form})")
    check_outputs([file], [output])
    captions = split_lines(read_text(file))
    build_resources(["SPICE"])
    texts = captions if raw else [" ".join(words) for words in tokenize(captions)]
    with Steps(1) as steps:
        steps.next("Computing scene graphs")
        tuples, sentences = _analyze(texts, longest, stages, file)
    if form == "jsonl":
        made = (
            _to_dict(caption, found, None if sentences is None else sentences[place])
            for place, (caption, found) in enumerate(zip(captions, tuples, strict=True))
        )
        deliver("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made), output)
    else:
        deliver("".join(map(_format_text, captions, tuples)), output)


def _analyze(
    texts: list[str], longest: int, stages: bool, file: Path
) -> tuple[list[list[tuple[str, ...]]], list[list[SentenceStages]] | None]:
    """Return the tuples of each text and, if requested, the stages of its sentences."""
    from capeval.cli.toolkit.resource_setup import store_folder
    from capeval.metrics.spice import LongSentenceError, analyze_sentences, list_scene_tuples
    from capeval.resources.spice import store_in

    folder = store_folder()
    store = None if folder is None else store_in(folder)
    try:
        tuples = list_scene_tuples(texts, longest=longest, store=store)
        return tuples, analyze_sentences(texts, longest=longest) if stages else None
    except LongSentenceError as error:
        name = "standard input" if str(file) == "-" else file
        raise CaptionError(f"{name}: line {texts.index(error.caption) + 1}: {error}") from None


def _to_dict(
    caption: str, tuples: Sequence[Sequence[str]], sentences: Sequence[SentenceStages] | None
) -> dict[str, Any]:
    made: dict[str, Any] = {"caption": caption, "tuples": tuples}
    if sentences is not None:
        made["sentences"] = [_stages_to_dict(sentence) for sentence in sentences]
    return made


def _stages_to_dict(sentence: SentenceStages) -> dict[str, Any]:
    from capeval.report.conllu import to_conllu

    return {
        "tokens": sentence.tokens,
        "tags": sentence.tags,
        "lemmas": sentence.lemmas,
        "tree": sentence.tree,
        "score": sentence.score,
        "conllu": to_conllu(sentence),
    }


def _format_text(caption: str, tuples: Sequence[Sequence[str]]) -> str:
    from capeval.scoring.grid_formats import escape_controls

    lines = [f"  ({', '.join(parts)})" for parts in tuples] or ["  no tuples"]
    return "".join(f"{escape_controls(line)}\n" for line in (caption, *lines))
