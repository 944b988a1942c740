"""The place of `pycocoevalcap.bleu`."""
