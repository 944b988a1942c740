"""Fixtures: shards of COCO, single-process results, the engines, and the documented recipes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from capeval import Candidates, References, evaluate
from capeval.scoring.report import Report
from tests.tiers import fail_on_skips

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "engines.md"
# Made by `make test-distributed`, from COCO.
SHARDS = Path(os.environ["CAPEVAL_SHARDS"]).resolve()

# Read by the engines when they start: workers are of this interpreter, find capeval, stay on this machine.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
# Ray's workers have a low priority and a minute to start. When other processes are busy, they take longer,
# and Ray starts more and more of them.
os.environ |= {"RAY_worker_niceness": "0", "RAY_worker_register_timeout_seconds": "600"}
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


@pytest.fixture(scope="session")
def shards() -> Path:
    """A folder of shards."""
    assert len(list(SHARDS.glob("*.parquet"))) == 4
    return SHARDS


@pytest.fixture(scope="session")
def table(shards: Path) -> pa.Table:
    """All shards as one table."""
    return pa.concat_tables(parquet.read_table(path) for path in sorted(shards.glob("*.parquet")))


@pytest.fixture(scope="session")
def recipes() -> SimpleNamespace:
    """Names that the code blocks of docs/how-to/engines.md define."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 7
    names: dict[str, Any] = {"__name__": "recipes"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    return SimpleNamespace(**names)


@pytest.fixture(scope="session")
def one_process(table: pa.Table, recipes: SimpleNamespace) -> Report:
    """Report of a single process for all images."""
    return evaluate_whole(table, recipes)


def evaluate_whole(table: pa.Table, recipes: SimpleNamespace, metrics: Any = None) -> Report:
    """The report of a table, in one process."""
    references = References.from_table(table, caption_column="references")
    candidates = Candidates.from_table(table, caption_column="caption")
    frequencies = recipes.counted(table).finish("references")
    chosen = recipes.metrics_with(frequencies) if metrics is None else metrics
    return evaluate(references, candidates, chosen, tokenizer=recipes.tokenizer)


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """Ray, with two workers on this machine."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark in local mode, where a task is tried up to four times."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").appName("capeval").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "1g").config("spark.sql.shuffle.partitions", "2")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "500").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """Dask, with two worker processes on this machine."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        yield client


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of CI that skipped tests."""
    fail_on_skips(session)
