"""The scores of a report as tables and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.scoring.grids import Cell, Grid, create_score_cell

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from capeval.scoring.bootstrap import Interval

__all__ = ["create_report_table", "to_arrow", "to_pandas", "to_polars"]


def create_report_table(
    name: str,
    corpus: Mapping[str, float],
    intervals: Mapping[str, Interval],
    subsets: Mapping[str, Mapping[str, float]],
    notes: Sequence[str],
) -> Grid:
    """Return a table of corpus scores, with one row for all images and one per subset."""
    rows = [(name, "all", corpus, intervals)]
    rows += [(name, subset, scores, {}) for subset, scores in subsets.items()]
    cells = [
        (
            Cell(value=label),
            Cell(value=images),
            *(create_score_cell(scores[key], known.get(key)) for key in corpus),
        )
        for label, images, scores, known in rows
    ]
    grid = Grid(columns=("System", "Images", *corpus), rows=tuple(cells), notes=tuple(notes))
    if subsets:
        return grid
    return replace(grid, columns=("System", *corpus), rows=tuple((row[0], *row[2:]) for row in cells))


def to_pandas(image_ids: Sequence[ImageId], per_image: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Return the scores per image, with the images as the index."""
    try:
        import pandas as pd
    except ImportError as error:
        raise make_missing_package_error("to_pandas needs", error) from None
    return pd.DataFrame(dict(per_image), index=pd.Index(image_ids, name="image_id"))


def to_polars(image_ids: Sequence[ImageId], per_image: Mapping[str, FloatArray]) -> pl.DataFrame:
    """Return the scores per image, with the images as a column."""
    try:
        import polars as pl
    except ImportError as error:
        raise make_missing_package_error("to_polars needs", error) from None
    return pl.DataFrame(_list_columns(image_ids, per_image))


def to_arrow(image_ids: Sequence[ImageId], per_image: Mapping[str, FloatArray]) -> pa.Table:
    """Return the scores per image, with the images as a column."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise make_missing_package_error("to_arrow needs", error) from None
    return pa.table(_list_columns(image_ids, per_image))


def _list_columns(image_ids: Sequence[ImageId], per_image: Mapping[str, FloatArray]) -> dict[str, Any]:
    return {"image_id": list(image_ids), **per_image}
