"""Benchmarks of capeval and the reference: `python -m benchmarks`, `make bench`."""
