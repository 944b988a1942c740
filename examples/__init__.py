"""Examples, which run from a checkout: `python -m examples.NAME`."""
