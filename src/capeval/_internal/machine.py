"""Processors and memory, on every operating system."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

__all__ = ["count_processors", "measure_peak_memory"]

_STATUS = Path("/proc/self/status")


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "process_cpu_count"):
        # Python 3.13 and newer.
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measure_peak_memory() -> float:
    """Return the peak memory of this process in megabytes, or NaN if the system does not report it."""
    if _STATUS.exists():
        lines = (line.split() for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines())
        # Sandboxes such as gVisor leave out the line.
        return next((float(line[1]) / 1024 for line in lines if line[0] == "VmHWM:"), math.nan)
    try:
        import resource
    except ImportError:
        # Windows.
        return math.nan
    # On Linux, this would include the peak memory of the parent process. The unit is KiB, on macOS bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
