"""Human captions, and their scores by pycocoevalcap."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

__all__ = [
    "People",
    "file_name",
    "get_reference_image_scores",
    "get_reference_scores",
    "tokenize",
    "write_results",
]


@dataclass(frozen=True, kw_only=True)
class People:
    """References, and one caption by each of two other people, by image."""

    references: dict[int, list[str]]
    ours: dict[int, str]
    others: dict[int, str]


def file_name(image: int) -> str:
    """Return the file name of an image of val2014."""
    return f"COCO_val2014_{image:012}.jpg"


def write_results(path: Path, captions: Mapping[int, str] | Mapping[str, str]) -> None:
    """Write results in COCO's format."""
    path.write_text(json.dumps([{"image_id": image, "caption": text} for image, text in captions.items()]))


def get_reference_scores(
    references: Mapping[int, list[str]], results: Mapping[int, str], images: Iterable[int] = ()
) -> dict[str, float]:
    """Return pycocoevalcap's scores of some or all images, by the names that capeval uses."""
    gts, res = tokenize(references, results, list(images) or list(references))
    with contextlib.redirect_stdout(io.StringIO()):
        bleu, _ = Bleu(4).compute_score(gts, res)
    scores = {f"BLEU-{order}": score for order, score in enumerate(bleu, start=1)}
    return {
        **scores,
        "ROUGE-L": float(Rouge().compute_score(gts, res)[0]),
        "CIDEr-D": float(Cider().compute_score(gts, res)[0]),
    }


def get_reference_image_scores(
    references: Mapping[int, list[str]], results: Mapping[int, str]
) -> dict[int, float]:
    """Return pycocoevalcap's CIDEr-D of each image."""
    gts, res = tokenize(references, results, list(references))
    return dict(zip(gts, map(float, Cider().compute_score(gts, res)[1]), strict=True))


def tokenize(
    references: Mapping[int, list[str]], results: Mapping[int, str], images: Iterable[int]
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return the tokens of references and results by pycocoevalcap, joined by spaces."""
    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({image: [{"caption": each} for each in references[image]] for image in images})
    res = tokenizer.tokenize({image: [{"caption": results[image]}] for image in images})
    return gts, res
