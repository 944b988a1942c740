"""Mirror of `pycocoevalcap.bleu`."""
