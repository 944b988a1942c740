"""Caption browser: all images of a page, searched, sorted and shown by a script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from markupsafe import Markup

from capeval._internal.validation import validate_choice
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.report.tables import System
from capeval.report.templates import read_resource, render_template
from capeval.tokenizers import TokenizedReferences, Tokenizer, tokenize

__all__ = [
    "CaptionBrowser",
    "ImageDetails",
    "SystemCaptions",
    "browser_data",
    "build_browser",
    "caption_browser",
    "captions_data",
    "script_json",
]

# Scores are integers in the page: a third shorter than decimals, and exact to five digits.
_SCALE = 100_000
# The script uses the same pattern; the page contains the tokens only if the pattern gives different ones.
_WORD = re.compile(r"[A-Za-z0-9'-]+")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+")


@dataclass(frozen=True, kw_only=True)
class CaptionBrowser:
    """The parts of a page with the caption browser.

    Attributes:
        style: The style sheet. It uses the colors of the page: `--paper`, `--ink`, `--soft`, `--line`,
            `--tint` and `--matched`.
        body: The form, the list of images, the data and the script.
        policy: The content security policy of the page, which allows only this script and the pictures.
    """

    style: Markup
    body: Markup
    policy: str


@dataclass(frozen=True, kw_only=True)
class ImageDetails:
    """Domains and constraints of images; images may be missing.

    Attributes:
        domains: The domain of each image.
        constraints: The objects that captions of each image must mention: a mapping of names, such as object
            classes, to the phrases that mention them.
    """

    domains: Mapping[ImageId, str] = field(default_factory=dict)
    constraints: Mapping[ImageId, Mapping[str, Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SystemCaptions:
    """The captions of one system, with their scores.

    Attributes:
        name: The name of the system.
        captions: The caption of each image.
        values: The scores per image, of shape (images, scores).
    """

    name: str
    captions: Sequence[str]
    values: FloatArray


def caption_browser(
    systems: Sequence[System],
    references: References,
    candidates: Mapping[str, Candidates],
    *,
    tokenizer: Tokenizer,
    by: str,
    pictures: Mapping[ImageId, str] | None = None,
    details: ImageDetails | None = None,
) -> CaptionBrowser:
    """Create a caption browser for some systems.

    Args:
        systems: The systems, with the same images and the same scores.
        references: The references of these images.
        candidates: The candidates of each system by name.
        tokenizer: The tokenizer that was used for the scores.
        by: The initial sort key, a score.
        pictures: The URL of each image's picture; images may be missing.
        details: Domains and constraints of images; the page has filters for them.

    Raises:
        MismatchError: The systems have different images.
        OptionError: There is no score `by`, or the URL of a picture has an invalid host.
    """
    data = browser_data(
        systems, references, candidates, tokenizer=tokenizer, pictures=pictures, details=details
    )
    validate_choice("by", by, tuple(data["scores"]))
    return build_browser(data, by=by, pictures=pictures)


def build_browser(
    data: Mapping[str, Any],
    *,
    by: str,
    other: str | None = None,
    pictures: Mapping[ImageId, str] | None = None,
) -> CaptionBrowser:
    """Create a caption browser from the data of its script.

    Args:
        data: The result of `browser_data` or `captions_data`.
        by: The initial sort key, a score.
        other: The system with the score to subtract at first; images are then sorted from the lowest
            difference.
        pictures: The URL of each image's picture.

    Raises:
        OptionError: The URL of a picture has an invalid host.
    """
    script = read_resource("assets/browser.js")
    # Nothing is escaped inside a script element: the data contain no "<", and the script contains no "</".
    content, code = Markup(script_json(data)), Markup(script)  # noqa: S704
    body = render_template("browser.html", data=data, by=by, other=other, content=content, script=code)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return CaptionBrowser(
        style=Markup(read_resource("assets/browser.css")),  # noqa: S704
        body=Markup(body),  # noqa: S704
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        f"{_build_image_policy((pictures or {}).values())}",
    )


def browser_data(
    systems: Sequence[System],
    references: References,
    candidates: Mapping[str, Candidates],
    *,
    tokenizer: Tokenizer,
    pictures: Mapping[ImageId, str] | None = None,
    details: ImageDetails | None = None,
) -> dict[str, Any]:
    """Return the captions, scores and picture URLs in the form that the script reads.

    Args:
        systems: The systems, with the same images and the same scores.
        references: The references of these images.
        candidates: The candidates of each system by name.
        tokenizer: The tokenizer that was used for the scores.
        pictures: The URL of each image's picture; images may be missing.
        details: Domains and constraints of images.

    Raises:
        MismatchError: The systems have different images.
    """
    ids = systems[0].report.image_ids
    if any(system.report.image_ids != ids for system in systems):
        raise MismatchError("systems in a caption browser must have the same images in the same order")
    tokens = TokenizedReferences(references.select(ids), tokenizer)
    texts = [candidates[system.name].select(ids) for system in systems]
    said = [
        SystemCaptions(
            name=system.name,
            captions=[captions[0] for captions in found.values()],
            values=np.column_stack(list(system.report.per_image.values())),
        )
        for system, found in zip(systems, texts, strict=True)
    ]
    return _build_data(
        ids,
        list(systems[0].report.corpus),
        said,
        [references[image] for image in ids],
        [
            (row for image in ids for row in tokens.texts(image)),
            *(tokens.candidates(found).texts() for found in texts),
        ],
        tokenizer=tokenizer,
        pictures=pictures,
        details=details or ImageDetails(),
    )


def captions_data(
    ids: Sequence[ImageId],
    scores: Sequence[str],
    said: Sequence[SystemCaptions],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: Tokenizer,
    pictures: Mapping[ImageId, str] | None = None,
    details: ImageDetails | None = None,
) -> dict[str, Any]:
    """Return captions with known scores in the form that the script reads.

    Args:
        ids: The images.
        scores: The names of the scores.
        said: The captions of each system.
        references: The references of each image; an image may have none.
        tokenizer: The tokenizer that was used for the scores.
        pictures: The URL of each image's picture; images may be missing.
        details: Domains and constraints of images.
    """
    texts = [[text for found in references for text in found], *(list(each.captions) for each in said)]
    rows = iter(tokenize([text for each in texts for text in each], tokenizer))
    tokens = [[" ".join(next(rows)) for _ in each] for each in texts]
    return _build_data(
        ids,
        scores,
        said,
        references,
        tokens,
        tokenizer=tokenizer,
        pictures=pictures,
        details=details or ImageDetails(),
    )


def _build_data(
    ids: Sequence[ImageId],
    scores: Sequence[str],
    said: Sequence[SystemCaptions],
    references: Sequence[Sequence[str]],
    tokens: Sequence[Iterable[str]],
    *,
    tokenizer: Tokenizer,
    pictures: Mapping[ImageId, str] | None,
    details: ImageDetails,
) -> dict[str, Any]:
    """Return the data of the script.

    `tokens` contains the tokens of all references, then the tokens of each system's captions.
    """
    texts = [[text for found in references for text in found], *(each.captions for each in said)]
    return {
        "systems": [each.name for each in said],
        "scores": list(scores),
        "scale": _SCALE,
        # As text, since numbers in JavaScript have only 53 bits.
        "ids": [str(image) for image in ids],
        "references": list(references),
        "candidates": [list(each.captions) for each in said],
        "values": [[_scale_scores(column) for column in each.values.T] for each in said],
        "tokens": [_list_different_tokens(of, rows) for of, rows in zip(texts, tokens, strict=True)],
        "domains": _encode_domains(ids, details),
        "constraints": _encode_constraints(ids, details, tokenizer),
        "pictures": None if pictures is None else _split_urls([pictures.get(image) for image in ids]),
    }


def _encode_domains(ids: Sequence[ImageId], details: ImageDetails) -> dict[str, Any] | None:
    """Return the domain names and the index of each image's domain (-1 for none).

    The result is None if no image has a domain.
    """
    names = list(dict.fromkeys(details.domains[image] for image in ids if image in details.domains))
    places = {name: place for place, name in enumerate(names)}
    of = [places[details.domains[image]] if image in details.domains else -1 for image in ids]
    return {"names": names, "of": of} if names else None


def _encode_constraints(
    ids: Sequence[ImageId], details: ImageDetails, tokenizer: Tokenizer
) -> dict[str, Any] | None:
    """Return distinct constraints with tokenized phrases, and each image's indices.

    The result is None if there are no constraints.
    """
    places: dict[tuple[str, tuple[str, ...]], int] = {}
    of = []
    for image in ids:
        given = details.constraints.get(image, {})
        of.append([places.setdefault((name, tuple(phrases)), len(places)) for name, phrases in given.items()])
    if not places:
        return None
    flat = tokenize([phrase for _, phrases in places for phrase in phrases], tokenizer)
    rows = iter([" ".join(tokens) for tokens in flat])
    phrases = [[next(rows) for _ in phrases] for _, phrases in places]
    return {"names": [name for name, _ in places], "phrases": phrases, "of": of}


def _scale_scores(values: FloatArray) -> list[int | None]:
    """Return scores as scaled integers, for a small page; None for NaN."""
    known = ~np.isnan(values)
    numbers = np.rint(np.where(known, values, 0.0) * _SCALE).astype(np.int64).tolist()
    return [number if there else None for number, there in zip(numbers, known.tolist(), strict=True)]


def _list_different_tokens(captions: Iterable[str], tokens: Iterable[str]) -> dict[int, str]:
    """Return tokens, by position, of captions that the script splits differently."""
    return {
        position: row
        for position, (text, row) in enumerate(zip(captions, tokens, strict=True))
        if " ".join(_WORD.findall(text)).lower() != row
    }


def _split_urls(addresses: Sequence[str | None]) -> dict[str, Any]:
    """Split URLs into their common prefix, common suffix, and the middle of each."""
    there = [address for address in addresses if address is not None]
    before = _find_common_prefix(there)
    rest = [address[len(before) :] for address in there]
    after = _find_common_prefix([address[::-1] for address in rest])[::-1]
    middles = [
        None if address is None else address[len(before) : len(address) - len(after)] for address in addresses
    ]
    return {"before": before, "after": after, "middles": middles}


def _find_common_prefix(texts: Sequence[str]) -> str:
    """Return the common prefix."""
    first, last = min(texts, default=""), max(texts, default="")
    return first[: next((at for at, each in enumerate(first) if each != last[at : at + 1]), len(first))]


def script_json(data: Mapping[str, Any]) -> str:
    """Return JSON for a script element; "<" is escaped, so that captions can't end it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _build_image_policy(addresses: Iterable[str]) -> str:
    """Return the directive of the policy that allows only the sources of the images."""
    sources = set()
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https"):
            if not _HOST.fullmatch(parts.netloc):
                raise OptionError(f"the URL of an image must have a plain host name (got {address!r:.80})")
            sources.add(f"{parts.scheme}://{parts.netloc}")
        else:
            # 'self' does not include files next to a page that is opened from disk.
            sources |= {"data:"} if parts.scheme == "data" else {"'self'", "file:"}
    return f"; img-src {' '.join(sorted(sources))}" if sources else ""
