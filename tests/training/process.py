"""One of several processes that score together, over gloo; writes its scores as JSON.

Called as: python -m tests.training.process RANK PROCESSES MEETING_FILE MODE OUTPUT
"""

import json
import sys
from pathlib import Path

import torch
from torch import distributed
from torch.utils.data import DataLoader, DistributedSampler

from capeval.integrations.torchmetrics import CaptionScores
from tests.training.data import METRICS, captions

IMAGES = 25
BATCH = 4


def epoch(metric: CaptionScores, mode: str) -> dict[str, float]:
    """One pass over this process's share of the images, in batches, as a validation loop does it."""
    references, candidates = captions(IMAGES, seed=1)
    images = list(candidates)
    # The sampler gives some images twice, so that all processes have as many.
    loader = DataLoader(images, batch_size=BATCH, sampler=DistributedSampler(images, shuffle=mode == "known"))
    for batch in loader:
        given = batch.tolist()
        preds = [candidates[image] for image in given]
        metric.update(preds, batch if mode == "known" else [references[image] for image in given])
    return {name: score.item() for name, score in metric.compute().items()}


def main(rank: int, processes: int, meeting: str, mode: str, output: str) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=processes)
    metric = CaptionScores(captions(IMAGES, seed=1)[0] if mode == "known" else None, METRICS)
    if mode == "idle":
        # The last process has nothing to score.
        found = {}
        metric = CaptionScores(captions(IMAGES, seed=1)[0], METRICS)
        if rank < processes - 1:
            images = list(captions(IMAGES, seed=1)[1].items())[rank :: processes - 1]
            metric.update([caption for _, caption in images], [image for image, _ in images])
        found = {name: score.item() for name, score in metric.compute().items()}
        epochs = [found]
    else:
        epochs = []
        for _ in range(2):
            epochs.append(epoch(metric, mode))
            metric.reset()
    Path(output).write_text(json.dumps({"torch": torch.__version__, "epochs": epochs}))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6])
