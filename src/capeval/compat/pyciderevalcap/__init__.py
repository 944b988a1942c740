"""Mirror of `pyciderevalcap`: CIDEr and CIDEr-D for self-critical training."""
