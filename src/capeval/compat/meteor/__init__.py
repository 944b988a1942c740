"""Has the modules of `pycocoevalcap.meteor`."""
