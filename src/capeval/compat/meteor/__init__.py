"""Mirror of `pycocoevalcap.meteor`."""
