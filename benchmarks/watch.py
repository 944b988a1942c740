"""Runs a command, and prints as JSON its exit status, seconds, largest resident memory in MB, and output.

It imports little, and so takes little memory itself: `benchmarks.measure` says why.
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
