"""Types of path parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Path

__all__ = ["ImageSize", "Number", "PictureName", "Slug", "UserName"]

Slug = Annotated[str, Path(max_length=50, pattern="^[A-Za-z0-9_-]+$")]
# The range of primary keys that every supported database can store.
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
UserName = Annotated[str, Path(max_length=150, pattern=r"^[\w.@+-]+$")]
PictureName = Annotated[str, Path(max_length=100, pattern="^[A-Za-z0-9._-]+$")]
ImageSize = Annotated[Literal["small", "large"], Path()]
