"""Wrapper that measures a command and prints a JSON list.

The list contains the exit status, wall seconds, peak resident memory in MB, and standard output. This module
imports little to keep its own memory small; see `benchmarks.measure`.
"""

import json
import os
import subprocess
import sys
import time

start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
assert process.stdout is not None
output = process.stdout.read()
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - start
process.returncode = os.waitstatus_to_exitcode(status)
process.stdout.close()
print(json.dumps([process.returncode, seconds, usage.ru_maxrss / 1024, output]))
