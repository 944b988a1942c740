"""Benchmarks: their data, splits and rules."""
