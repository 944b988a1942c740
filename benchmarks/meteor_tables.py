"""Benchmark of compiling METEOR's tables into an empty folder. Prints the seconds."""

import tempfile
import time
from pathlib import Path

from capeval.resources.meteor import ensure_tables

with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    ensure_tables(Path(folder))
    print(time.perf_counter() - start)
