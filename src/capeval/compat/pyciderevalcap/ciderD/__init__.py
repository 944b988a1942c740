"""Mirror of `pyciderevalcap.ciderD`."""
