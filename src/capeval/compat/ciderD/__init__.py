"""Mirror of the folder `ciderD` in CIDEr forks for self-critical training."""
