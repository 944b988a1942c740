"""Has the module of the folder `ciderD` of the forks for self-critical training."""
