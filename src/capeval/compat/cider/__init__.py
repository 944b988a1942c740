"""Mirror of `pycocoevalcap.cider`."""
