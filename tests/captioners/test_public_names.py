"""What the modules export that need PyTorch."""

from __future__ import annotations

import capeval_baselines.baby_talk as baby_talk
import capeval_baselines.captioning as captioning
import capeval_baselines.checkpoints as checkpoints
import capeval_baselines.generation as generation
import capeval_baselines.training as training
import capeval_baselines.updown as updown


def test_exports() -> None:
    for module in (baby_talk, captioning, checkpoints, generation, training, updown):
        defined = {
            name
            for name, each in vars(module).items()
            if getattr(each, "__module__", "") == module.__name__ and not name.startswith("_")
        }
        assert defined <= set(module.__all__)
        assert set(module.__all__) <= set(vars(module))
