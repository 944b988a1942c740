"""The browser of captions: every image of a page, searched, sorted and shown by a script in the page."""

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

from capeval._internal.validation import checked_choice
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.report.tables import System
from capeval.report.templates import rendered, resource
from capeval.tokenizers import TokenizedReferences, Tokenizer, tokenize

__all__ = [
    "CaptionBrowser",
    "ImageDetails",
    "SystemCaptions",
    "browser_data",
    "caption_browser",
    "captions_data",
    "script_json",
]

# Scores are whole numbers in the page: a third shorter than with a point, and exact to five digits.
_SCALE = 100_000
# The tokens of most captions, by a rule that the script has too; those of the others are in the page.
_WORD = re.compile(r"[A-Za-z0-9'-]+")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+")


@dataclass(frozen=True, kw_only=True)
class CaptionBrowser:
    """What a page with the browser of captions needs.

    Attributes:
        style: The style sheet. It takes its colors from the page: `--paper`, `--ink`, `--soft`, `--line`,
            `--tint` and `--matched`.
        body: The form, the list of images, the data and the script.
        policy: The content security policy of the page: no script but this one, and nothing from elsewhere
            but the pictures.
    """

    style: Markup
    body: Markup
    policy: str


@dataclass(frozen=True, kw_only=True)
class ImageDetails:
    """What is known of images besides their captions. Images may be missing.

    Attributes:
        domains: The domain of each image.
        constraints: For each image what its captions shall mention: names, such as classes of objects, to the
            phrases that mention them.
    """

    domains: Mapping[ImageId, str] = field(default_factory=dict)
    constraints: Mapping[ImageId, Mapping[str, Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SystemCaptions:
    """What one system says of some images.

    Attributes:
        name: The system.
        captions: The caption of each image.
        values: The scores of each image: a row for each image, a column for each score.
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
    """The browser of the captions of some systems.

    Args:
        systems: The systems, all of the same images and with the same scores.
        references: The references of these images.
        candidates: The candidates of each system by its name.
        tokenizer: How the captions were tokenized for the scores.
        by: The score that images are sorted by at first.
        pictures: The address of each image's picture; images may be missing.
        details: What is known of images besides; the page has fields to filter by it.

    Raises:
        MismatchError: The systems are of different images.
        OptionError: There is no score `by`, or an address of a picture has no plain host.
    """
    data = browser_data(
        systems, references, candidates, tokenizer=tokenizer, pictures=pictures, details=details
    )
    checked_choice("by", by, tuple(data["scores"]))
    script = resource("assets/browser.js")
    # Inside of a script element nothing is escaped: the data have no "<", and the script no "</".
    content, code = Markup(script_json(data)), Markup(script)  # noqa: S704
    body = rendered("browser.html", data=data, by=by, content=content, script=code)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return CaptionBrowser(
        style=Markup(resource("assets/browser.css")),  # noqa: S704
        body=Markup(body),  # noqa: S704
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        f"{_image_sources((pictures or {}).values())}",
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
    """The captions, scores and addresses of pictures, as the script reads them.

    Args:
        systems: The systems, all of the same images and with the same scores.
        references: The references of these images.
        candidates: The candidates of each system by its name.
        tokenizer: How the captions were tokenized for the scores.
        pictures: The address of each image's picture; images may be missing.
        details: What is known of images besides.

    Raises:
        MismatchError: The systems are of different images.
    """
    ids = systems[0].report.image_ids
    if any(system.report.image_ids != ids for system in systems):
        raise MismatchError("systems in one browser of captions must be of the same images, in one order")
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
    return _data(
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
    """The captions of some images, as the script reads them, where scores are at hand already.

    Args:
        ids: The images.
        scores: The names of the scores.
        said: What each system says of them.
        references: The references of each image; an image may have none.
        tokenizer: How the captions were tokenized for the scores.
        pictures: The address of each image's picture; images may be missing.
        details: What is known of images besides.
    """
    texts = [[text for found in references for text in found], *(list(each.captions) for each in said)]
    rows = iter(tokenize([text for each in texts for text in each], tokenizer))
    tokens = [[" ".join(next(rows)) for _ in each] for each in texts]
    return _data(
        ids,
        scores,
        said,
        references,
        tokens,
        tokenizer=tokenizer,
        pictures=pictures,
        details=details or ImageDetails(),
    )


def _data(
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
    """What the script reads. The tokens are those of all references, then of what each system says."""
    texts = [[text for found in references for text in found], *(each.captions for each in said)]
    return {
        "systems": [each.name for each in said],
        "scores": list(scores),
        "scale": _SCALE,
        # As text: the script's numbers have 53 bits.
        "ids": [str(image) for image in ids],
        "references": list(references),
        "candidates": [list(each.captions) for each in said],
        "values": [[_whole(column) for column in each.values.T] for each in said],
        "tokens": [_unlike(of, rows) for of, rows in zip(texts, tokens, strict=True)],
        "domains": _domains(ids, details),
        "constraints": _constraints(ids, details, tokenizer),
        "pictures": None if pictures is None else _shortened([pictures.get(image) for image in ids]),
    }


def _domains(ids: Sequence[ImageId], details: ImageDetails) -> dict[str, Any] | None:
    """The names of the domains, and the position of each image's; -1 for none. None where there are none."""
    names = list(dict.fromkeys(details.domains[image] for image in ids if image in details.domains))
    places = {name: place for place, name in enumerate(names)}
    of = [places[details.domains[image]] if image in details.domains else -1 for image in ids]
    return {"names": names, "of": of} if names else None


def _constraints(
    ids: Sequence[ImageId], details: ImageDetails, tokenizer: Tokenizer
) -> dict[str, Any] | None:
    """The constraints with the tokens of their phrases, each once, and the positions of each image's."""
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


def _whole(values: FloatArray) -> list[int | None]:
    """Scores as whole numbers, for a short page; None for a score that is not a number."""
    known = ~np.isnan(values)
    numbers = np.rint(np.where(known, values, 0.0) * _SCALE).astype(np.int64).tolist()
    return [number if there else None for number, there in zip(numbers, known.tolist(), strict=True)]


def _unlike(captions: Iterable[str], tokens: Iterable[str]) -> dict[int, str]:
    """The tokens of the captions, by position, that the script's rule does not give."""
    return {
        position: row
        for position, (text, row) in enumerate(zip(captions, tokens, strict=True))
        if " ".join(_WORD.findall(text)).lower() != row
    }


def _shortened(addresses: Sequence[str | None]) -> dict[str, Any]:
    """Addresses as what all begin with, what all end with, and what is between in each."""
    there = [address for address in addresses if address is not None]
    before = _beginning(there)
    rest = [address[len(before) :] for address in there]
    after = _beginning([address[::-1] for address in rest])[::-1]
    middles = [
        None if address is None else address[len(before) : len(address) - len(after)] for address in addresses
    ]
    return {"before": before, "after": after, "middles": middles}


def _beginning(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts, default=""), max(texts, default="")
    return first[: next((at for at, each in enumerate(first) if each != last[at : at + 1]), len(first))]


def script_json(data: Mapping[str, Any]) -> str:
    """JSON that can be inside of a script element: without "<", no caption can end it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _image_sources(addresses: Iterable[str]) -> str:
    """The part of the policy that lets a page load images, from where they are and from nowhere else."""
    sources = set()
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https"):
            if not _HOST.fullmatch(parts.netloc):
                raise OptionError(f"the address of an image must have a plain host (got {address!r:.80})")
            sources.add(f"{parts.scheme}://{parts.netloc}")
        else:
            # A page that is opened as a file is not "self" for the files beside it.
            sources |= {"data:"} if parts.scheme == "data" else {"'self'", "file:"}
    return f"; img-src {' '.join(sorted(sources))}" if sources else ""
