"""Has the modules of `pycocoevalcap.bleu`."""
