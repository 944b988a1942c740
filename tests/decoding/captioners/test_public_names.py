"""Public names of the modules that need PyTorch."""

from __future__ import annotations

import capeval_decoding.baselines.baby_talk as baby_talk
import capeval_decoding.baselines.captioning as captioning
import capeval_decoding.baselines.checkpoints as checkpoints
import capeval_decoding.baselines.training as training
import capeval_decoding.baselines.updown as updown
import capeval_decoding.generation as generation


def test_exports() -> None:
    for module in (baby_talk, captioning, checkpoints, generation, training, updown):
        defined = {
            name
            for name, each in vars(module).items()
            if getattr(each, "__module__", "") == module.__name__ and not name.startswith("_")
        }
        assert defined <= set(module.__all__)
        assert set(module.__all__) <= set(vars(module))
