"""The place of `pycocoevalcap.rouge`."""
