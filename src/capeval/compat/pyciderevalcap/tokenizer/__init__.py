"""Mirror of `pyciderevalcap.tokenizer`."""
