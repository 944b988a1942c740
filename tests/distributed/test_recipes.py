"""Recipes of docs/how-to/engines.md: results on the engines equal those of a single process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from capeval import Spice
from capeval.distributed import Sums, build_report, build_statistics_table
from capeval.scoring.report import Report
from tests.distributed.conftest import evaluate_whole
from tests.spice_model import NEEDS_MODEL


def check(sums: Sums, whole: Report) -> None:
    """Whether sums are those of one process."""
    assert sums.images == len(whole.image_ids)
    assert sums.corpus == pytest.approx(whole.corpus, rel=1e-12)
    assert {key: str(one) for key, one in sums.signatures.items()} == {
        key: str(one) for key, one in whole.signatures.items()
    }


def check_rows(rows: pa.Table, metrics: Any, recipes: SimpleNamespace, whole: Report) -> None:
    """Whether the statistics of each image are those of one process, to the last bit."""
    report = build_report(rows, metrics, tokenizer=recipes.tokenizer)
    places = {image: place for place, image in enumerate(report.image_ids)}
    order = [places[image] for image in whole.image_ids]
    assert len(order) == len(places)
    for (_, ours), (_, theirs) in zip(report.scores, whole.scores, strict=True):
        assert np.array_equal(ours.statistics[order], theirs.statistics)


def test_ray_data(ray: Any, recipes: SimpleNamespace, shards: Path, one_process: Report) -> None:
    check(recipes.with_ray(str(shards)), one_process)


def test_spark(spark: Any, recipes: SimpleNamespace, shards: Path, one_process: Report) -> None:
    check(recipes.with_spark(spark, str(shards)), one_process)


def test_dask(dask_client: Any, recipes: SimpleNamespace, shards: Path, one_process: Report) -> None:
    check(recipes.with_dask(str(shards)), one_process)


def test_dask_on_threads(recipes: SimpleNamespace, shards: Path, one_process: Report) -> None:
    import dask

    with dask.config.set(scheduler="threads", num_workers=2):
        check(recipes.with_dask(str(shards)), one_process)


def test_duckdb(recipes: SimpleNamespace, shards: Path, one_process: Report) -> None:
    check(recipes.with_duckdb(str(shards)), one_process)


def test_polars(recipes: SimpleNamespace, shards: Path, one_process: Report) -> None:
    check(recipes.with_polars(str(shards)), one_process)


def test_rewards_of_ray_actors(ray: Any, recipes: SimpleNamespace, table: pa.Table) -> None:
    references = dict(
        zip(*(table.column(name).to_pylist() for name in ("image_id", "references")), strict=True)
    )
    images = list(references)
    # Each minibatch has two samples of ten images: one of their references, and that of another image.
    minibatches = [
        {image: [references[image][0], references[images[0]][0]] for image in images[start : start + 10]}
        for start in range(10, 60, 10)
    ]
    rewards = recipes.rewards_of(references, minibatches)
    prepared = recipes.CiderD().prepare(references, tokenizer=recipes.tokenizer)
    for samples, found in zip(minibatches, rewards, strict=True):
        assert np.array_equal(found.ravel(), prepared.score(samples).per_image["CIDEr-D"])
        assert (found[:, 0] > found[:, 1]).all()


@pytest.fixture(scope="session")
def shuffled(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same images in another order, in parts of other sizes."""
    folder = tmp_path_factory.mktemp("shuffled")
    mixed = table.take(np.random.default_rng(7).permutation(len(table)))
    for start, end in ((0, 1), (1, 900), (900, len(table))):
        parquet.write_table(mixed.slice(start, end - start), folder / f"part-{start}.parquet")
    return folder


def rows_of(engine: str, score: Callable[[Any], pa.Table], folder: Path, request: Any) -> pa.Table:
    """The statistics of all images, as an engine maps a function over batches."""
    if engine == "Ray":
        data = request.getfixturevalue("ray").data.read_parquet(str(folder))
        made = data.map_batches(score, batch_format="pyarrow", batch_size=300)
        return pa.concat_tables(request.getfixturevalue("ray").get(made.to_arrow_refs()))
    if engine == "Spark":
        frame = request.getfixturevalue("spark").read.parquet(str(folder))

        def batches(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for part in parts:
                yield from score(part).to_batches()

        first = next(iter(folder.glob("*.parquet")))
        names = score(parquet.read_table(first).slice(0, 1)).schema
        kinds = {pa.int64(): "long", pa.list_(pa.float64()): "array<double>"}
        columns = ", ".join(f"{field.name} {kinds[field.type]}" for field in names)
        return frame.mapInArrow(batches, columns).toArrow()
    if engine == "Dask":
        import dask

        made = [dask.delayed(lambda path: score(parquet.read_table(path)))(path) for path in folder.iterdir()]
        return pa.concat_tables(
            request.getfixturevalue("dask_client").gather(
                request.getfixturevalue("dask_client").compute(made)
            )
        )
    if engine == "DuckDB":
        import duckdb

        reader = duckdb.sql(f"from '{folder}/*.parquet'").to_arrow_reader(300)
        return pa.concat_tables(score(batch) for batch in reader)
    import polars

    frames = polars.scan_parquet(f"{folder}/*.parquet").collect_batches(chunk_size=300)
    return pa.concat_tables(score(frame) for frame in frames)


ENGINES = ["Ray", "Spark", "Dask", "DuckDB", "Polars"]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_shuffled_shards(
    engine: str, recipes: SimpleNamespace, table: pa.Table, shuffled: Path, one_process: Report, request: Any
) -> None:
    metrics = recipes.metrics_with(recipes.counted(table).finish("references"))
    scored = recipes.scored
    rows = rows_of(engine, lambda batch: build_statistics_table(scored(batch, metrics)), shuffled, request)
    check_rows(rows, metrics, recipes, one_process)


@NEEDS_MODEL
@pytest.mark.parametrize("engine", ENGINES)
def test_spice(engine: str, recipes: SimpleNamespace, table: pa.Table, tmp_path: Path, request: Any) -> None:
    few = table.slice(0, 24)
    for start in (0, 16):
        parquet.write_table(few.slice(start, 16), tmp_path / f"{start}.parquet")
    metrics, scored = [Spice()], recipes.scored
    rows = rows_of(engine, lambda batch: build_statistics_table(scored(batch, metrics)), tmp_path, request)
    check_rows(rows, metrics, recipes, evaluate_whole(few, recipes, metrics))


def killed_once(recipes: SimpleNamespace, metrics: Any, folder: Path) -> Callable[[Any], pa.Table]:
    """Scores a batch; whoever comes first is killed before it has given its rows."""
    scored, mark = recipes.scored, str(folder / "killed")

    def score(batch: Any) -> pa.Table:
        rows = build_statistics_table(scored(batch, metrics))
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return rows
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    return score


@pytest.mark.parametrize("engine", ["Ray", "Dask"])
def test_a_worker_that_is_killed_counts_once(
    engine: str,
    recipes: SimpleNamespace,
    table: pa.Table,
    shards: Path,
    one_process: Report,
    tmp_path: Path,
    request: Any,
) -> None:
    metrics = recipes.metrics_with(recipes.counted(table).finish("references"))
    rows = rows_of(engine, killed_once(recipes, metrics, tmp_path), shards, request)
    assert (tmp_path / "killed").exists()
    check_rows(rows, metrics, recipes, one_process)


def test_a_worker_of_spark_that_is_killed_counts_once(
    spark: Any, recipes: SimpleNamespace, table: pa.Table, shards: Path, one_process: Report, tmp_path: Path
) -> None:
    metrics = recipes.metrics_with(recipes.counted(table).finish("references"))
    score = killed_once(recipes, metrics, tmp_path)

    def batches(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield from score(part).to_batches()

    columns = (
        "image_id long, bleu array<double>, rouge_l array<double>, cider_d array<double>, references long,"
        " digest long, settings long"
    )
    rows = spark.read.parquet(str(shards)).mapInArrow(batches, columns).toArrow()
    assert (tmp_path / "killed").exists()
    check_rows(rows, metrics, recipes, one_process)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bad_row_stops_the_job_and_is_named(
    engine: str, recipes: SimpleNamespace, table: pa.Table, tmp_path: Path, request: Any
) -> None:
    few = table.slice(0, 40)
    captions = few.column("caption").to_pylist()
    captions[17] = None
    bad = few.set_column(few.column_names.index("caption"), "caption", pa.array(captions))
    parquet.write_table(bad, tmp_path / "bad.parquet")
    metrics, scored = [recipes.Bleu()], recipes.scored
    with pytest.raises(Exception, match=r"row 17: caption must be text \(got null\)"):
        rows_of(engine, lambda batch: build_statistics_table(scored(batch, metrics)), tmp_path, request)
