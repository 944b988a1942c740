"""Python runs this first in each process of a server's tests."""

import importlib
import sys

# The module is in the same folder as this file; PYTHONPATH contains that folder.
sys.addaudithook(importlib.import_module("staying").end)
