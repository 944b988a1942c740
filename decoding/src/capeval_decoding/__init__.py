"""Constrained beam search and the baseline captioners of nocaps.

Constraints, state machines and the search require only numpy. The captioners and constrained generation
require PyTorch.
"""
