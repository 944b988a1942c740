"""The place of `pycocoevalcap.meteor`."""
