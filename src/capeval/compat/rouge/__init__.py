"""Mirror of `pycocoevalcap.rouge`."""
