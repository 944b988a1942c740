"""Benchmark datasets: data, splits and rules."""
