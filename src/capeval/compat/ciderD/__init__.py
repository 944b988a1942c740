"""Mirror of the folder `ciderD` in copies of pycocoevalcap for self-critical training."""
