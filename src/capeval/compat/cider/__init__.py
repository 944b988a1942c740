"""Has the modules of `pycocoevalcap.cider`."""
