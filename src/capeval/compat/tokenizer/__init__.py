"""The place of `pycocoevalcap.tokenizer`."""
