"""Side-by-side timings: `python -m benchmarks`, or `make bench`."""
