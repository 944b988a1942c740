"""Benchmarks of capeval and the reference: `python -m benchmarks`, or `make bench`."""
