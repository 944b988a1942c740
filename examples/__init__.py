"""Examples to run from a checkout: `python -m examples.NAME`."""
