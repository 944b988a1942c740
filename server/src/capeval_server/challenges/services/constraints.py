"""Names that captions of a split must mention, with the phrases that count."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from functools import lru_cache

from capeval.data.captions import ImageId
from capeval.formats.constraints import ImageConstraints, constraints_bytes, load_constraints
from capeval_server.challenges.models import Split, SplitConstraints
from capeval_server.challenges.services.locks import upsert

__all__ = ["get_constraints", "store_constraints"]


def store_constraints(split: Split, constraints: Mapping[ImageId, ImageConstraints]) -> None:
    """Store the constraints of a split's images; without any, delete the stored ones."""
    if not constraints:
        SplitConstraints.objects.filter(split=split).delete()
        return
    data = constraints_bytes(constraints)
    values = {"content": zlib.compress(data), "sha256": hashlib.sha256(data).hexdigest()}
    upsert(SplitConstraints.objects, values, split=split)


def get_constraints(split: Split) -> Mapping[ImageId, ImageConstraints]:
    """Return the constraints of a split by image."""
    known = SplitConstraints.objects.filter(split=split).values_list("sha256", flat=True).first()
    return _load(split.pk, known) if known else {}


@lru_cache(maxsize=4)
def _load(split: int, sha256: str) -> Mapping[ImageId, ImageConstraints]:
    content = SplitConstraints.objects.values_list("content", flat=True).get(split=split, sha256=sha256)
    return load_constraints(zlib.decompress(bytes(content)))
