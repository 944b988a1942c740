"""Has the modules of `pycocoevalcap.tokenizer`."""
