"""Has the modules of `pycocoevalcap.rouge`."""
