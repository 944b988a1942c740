"""`capeval study NAME`: the papers' studies, one command a module of this package."""
