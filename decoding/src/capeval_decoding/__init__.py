"""The captioners that nocaps compares with, and the search that has captions mention given words.

What needs PyTorch says so; constraints, state machines and the search need numpy alone.
"""
