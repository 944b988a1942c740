"""The place of `pycocoevalcap.cider`."""
