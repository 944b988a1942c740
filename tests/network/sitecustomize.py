"""Python runs this first in each process of a server's tests."""

import importlib
import sys

# It is beside this file, of which the folder is in PYTHONPATH.
sys.addaudithook(importlib.import_module("staying").end)
