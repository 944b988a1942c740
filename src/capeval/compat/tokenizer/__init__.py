"""Mirror of `pycocoevalcap.tokenizer`."""
