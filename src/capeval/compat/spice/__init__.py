"""Mirror of `pycocoevalcap.spice`."""
