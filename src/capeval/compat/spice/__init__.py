"""Has the modules of `pycocoevalcap.spice`."""
