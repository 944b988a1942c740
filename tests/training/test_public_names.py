"""Public names of the modules that need optional libraries."""

from __future__ import annotations

import capeval.integrations.capeval_scores.capeval_scores as evaluate_module
import capeval.integrations.torchmetrics as torchmetrics_module


def test_exports() -> None:
    assert torchmetrics_module.__all__ == ["CaptionScores"]
    assert evaluate_module.__all__ == ["CapevalScores"]
    for module in (torchmetrics_module, evaluate_module):
        for name in module.__all__:
            assert getattr(module, name).__module__ == module.__name__
