"""Benchmarks of human judgments: one module each, with `BENCHMARK`."""
