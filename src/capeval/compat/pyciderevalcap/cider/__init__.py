"""Mirror of `pyciderevalcap.cider`."""
