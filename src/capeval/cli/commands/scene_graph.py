"""The `capeval scene-graph` command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

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


_T = TypeVar("_T")
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
    sentences: Annotated[
        bool, Option("--sentences", help="Parse each sentence of a caption separately.")
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

    if raw and sentences:
        raise OptionError(
            "--sentences can't be combined with --raw, which parses each sentence separately too"
        )
    if stages and form != "jsonl":
        raise OptionError(f"--stages requires --format jsonl (got --format {form})")
    check_outputs([file], [output])
    captions = split_lines(read_text(file))
    build_resources(["SPICE"])
    texts = [[caption] for caption in captions] if raw else _tokenize(captions, sentences=sentences)
    with Steps(1) as steps:
        steps.next("Computing scene graphs")
        tuples, analyzed = _analyze(texts, longest, stages, file)
    if form == "jsonl":
        made = (
            _to_dict(caption, found, None if analyzed is None else analyzed[place])
            for place, (caption, found) in enumerate(zip(captions, tuples, strict=True))
        )
        deliver("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made), output)
    else:
        deliver("".join(map(_format_text, captions, tuples)), output)


def _tokenize(captions: list[str], *, sentences: bool) -> list[list[str]]:
    """Return the tokens of each caption: one text, or one of each sentence."""
    from capeval.metrics.sentences import split_sentences
    from capeval.tokenizers import Tokenizer, tokenize

    if sentences:
        return [text.split("\n") for text in split_sentences(captions, Tokenizer())]
    return [[" ".join(tokens)] for tokens in tokenize(captions)]


def _analyze(
    texts: list[list[str]], longest: int, stages: bool, file: Path
) -> tuple[list[list[tuple[str, ...]]], list[list[SentenceStages]] | None]:
    """Return the tuples of each caption and, if requested, the stages of its sentences.

    Args:
        texts: The texts of each caption, which are parsed separately.
        longest: The maximum length of sentences, in tokens.
        stages: Whether the stages are requested.
        file: The file with the captions.
    """
    from capeval.cli.toolkit.resource_setup import store_folder
    from capeval.metrics.spice_parsing import LongSentenceError, analyze_sentences, list_scene_tuples
    from capeval.resources.spice import store_in

    folder = store_folder()
    store = None if folder is None else store_in(folder)
    parts = list(chain.from_iterable(texts))
    try:
        tuples = list_scene_tuples(parts, longest=longest, store=store)
        analyzed = analyze_sentences(parts, longest=longest) if stages else None
    except LongSentenceError as error:
        name = "standard input" if str(file) == "-" else file
        line = next(place for place, found in enumerate(texts, start=1) if error.caption in found)
        raise CaptionError(f"{name}: line {line}: {error}") from None
    return _merge(tuples, texts), None if analyzed is None else _merge(analyzed, texts)


def _merge(parts: Sequence[Sequence[_T]], texts: Sequence[Sequence[str]]) -> list[list[_T]]:
    """Merge the results of each caption's texts."""
    remaining = iter(parts)
    return [[one for _ in found for one in next(remaining)] for found in texts]


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
