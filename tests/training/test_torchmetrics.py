"""`CaptionScores` in one process and, with gloo, in several; torchmetrics defines the expected behavior."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torchmetrics

from capeval import Bleu, RougeL, Tokenizer, evaluate
from capeval.errors import CapevalWarning, CaptionError, MismatchError, OptionError
from capeval.integrations.torchmetrics import CaptionScores
from tests.training.data import METRICS, captions
from tests.training.process import IMAGES

PROJECT = Path(__file__).parents[2]
PATIENCE = 600
REFERENCES, CANDIDATES = captions(IMAGES, seed=1)
EXPECTED = dict(evaluate(REFERENCES, CANDIDATES, METRICS).corpus)


def scores(metric: CaptionScores) -> dict[str, float]:
    return {name: score.item() for name, score in metric.compute().items()}


def updated(metric: CaptionScores, *, batch: int = 7, images: list[int] | None = None) -> CaptionScores:
    images = list(CANDIDATES) if images is None else images
    for start in range(0, len(images), batch):
        some = images[start : start + batch]
        metric.update([CANDIDATES[image] for image in some], some)
    return metric


def started(tmp_path: Path, processes: int, mode: str) -> list[list[dict[str, float]]]:
    """The scores of each epoch in each of several real processes."""
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.training.process", str(rank), str(processes)),
                *(str(tmp_path / "meeting"), mode, str(tmp_path / f"{rank}.json")),
            ],
            cwd=PROJECT,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        said = [process.communicate(timeout=PATIENCE)[1] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * processes, said
    return [json.loads((tmp_path / f"{rank}.json").read_text())["epochs"] for rank in range(processes)]


def test_one_process_gives_the_scores_of_evaluate() -> None:
    metric = updated(CaptionScores(REFERENCES, METRICS))
    assert scores(metric) == EXPECTED
    assert set(EXPECTED) == {"BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D", "CIDEr-2015"}
    assert min(EXPECTED.values()) > 0


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_give_the_scores_of_evaluate_to_the_last_digit(
    tmp_path: Path, processes: int
) -> None:
    # 25 images do not divide by 2 or 3: the sampler repeats some, which count once.
    assert IMAGES % processes
    assert started(tmp_path, processes, "known") == [[EXPECTED, EXPECTED]] * processes


def test_a_process_that_has_nothing_to_score(tmp_path: Path) -> None:
    assert started(tmp_path, 3, "idle") == [[EXPECTED]] * 3


def test_references_of_the_updates_are_gathered(tmp_path: Path) -> None:
    # Without ids an image that a sampler repeats counts twice, as the documents say: the first one here.
    first, second = started(tmp_path, 2, "gathered")
    assert first == second
    images = [*list(CANDIDATES)[0::2], *list(CANDIDATES)[1::2], next(iter(CANDIDATES))]
    expected = evaluate(
        {place: REFERENCES[image] for place, image in enumerate(images)},
        {place: CANDIDATES[image] for place, image in enumerate(images)},
        METRICS,
    )
    assert first[0] == dict(expected.corpus)
    assert first[0] == first[1]


def test_references_of_the_updates_in_one_process() -> None:
    metric = CaptionScores(metrics=METRICS)
    assert metric.signatures == {}
    for image, caption in CANDIDATES.items():
        metric.update([caption], [REFERENCES[image]])
    assert scores(metric) == EXPECTED
    assert list(metric.signatures) == ["BLEU", "ROUGE-L", "CIDEr-D", "CIDEr-2015"]
    metric.reset()
    metric.update(['狗 "a"\n'], ['狗 "a"\n'])
    with pytest.warns(CapevalWarning, match="--tokenizer zh"):
        assert metric.compute()["ROUGE-L"] == 1


def test_forward_gives_the_scores_of_the_batch() -> None:
    metric = CaptionScores(REFERENCES, ["ROUGE-L", "CIDEr-D"])
    for image, caption in CANDIDATES.items():
        alone = metric([caption], [image])
        prepared = CaptionScores(REFERENCES, ["ROUGE-L", "CIDEr-D"])
        prepared.update([caption], [image])
        assert alone == prepared.compute()
    assert scores(metric) == {name: EXPECTED[name] for name in ("ROUGE-L", "CIDEr-D")}


def test_a_part_of_the_images_has_the_document_frequencies_of_all() -> None:
    part = list(CANDIDATES)[3:9]
    report = evaluate(REFERENCES, CANDIDATES, METRICS, subsets={"part": part})
    assert scores(updated(CaptionScores(REFERENCES, METRICS), images=part)) == report.subsets["part"]


def test_ids_are_strings_integers_or_a_tensor() -> None:
    references = {str(image): group for image, group in REFERENCES.items()}
    metric = CaptionScores(references, METRICS)
    metric.update(list(CANDIDATES.values()), tuple(map(str, CANDIDATES)))
    assert scores(metric) == EXPECTED
    metric = CaptionScores(REFERENCES, METRICS)
    metric.update(list(CANDIDATES.values()), torch.tensor(list(CANDIDATES)))
    assert scores(metric) == EXPECTED


def test_an_image_given_twice_counts_once() -> None:
    images = list(CANDIDATES)
    metric = updated(CaptionScores(REFERENCES, METRICS), images=[*images, *images[:3]])
    assert scores(metric) == EXPECTED
    metric = CaptionScores(REFERENCES, METRICS)
    metric.update([CANDIDATES[image] for image in [*images, images[0]]], [*images, images[0]])
    assert scores(metric) == EXPECTED


def test_another_caption_of_an_image_is_said() -> None:
    metric = updated(CaptionScores(REFERENCES, METRICS))
    image = next(iter(CANDIDATES))
    with pytest.warns(CapevalWarning, match=rf"^image {image} is scored with different captions"):
        metric.update(["something else"], [image])
    assert scores(metric) == EXPECTED
    metric = CaptionScores(REFERENCES, METRICS)
    with pytest.warns(CapevalWarning, match="of which only the first counts"):
        metric.update([CANDIDATES[image], "something else"], [image, image])


def test_reset_copies_and_pickles() -> None:
    metric = updated(CaptionScores(REFERENCES, METRICS))
    for again in (copy.deepcopy(metric), metric.clone(), pickle.loads(pickle.dumps(metric))):
        assert scores(again) == EXPECTED
    metric.reset()
    # torchmetrics says it too, and then asks.
    with (
        pytest.warns(UserWarning, match="before the"),
        pytest.raises(MismatchError, match=r"call update\(\) with at least one caption before compute"),
    ):
        metric.compute()
    assert scores(updated(metric)) == EXPECTED


def test_a_collection_of_metrics() -> None:
    collection = torchmetrics.MetricCollection(
        {"words": CaptionScores(REFERENCES, ["BLEU"]), "consensus": CaptionScores(REFERENCES, ["CIDEr-D"])}
    )
    collection.update(list(CANDIDATES.values()), list(CANDIDATES))
    found = {name.split("_")[-1]: score.item() for name, score in collection.compute().items()}
    assert found == {name: EXPECTED[name] for name in found}
    assert len(found) == 5


def test_the_direction_is_that_of_the_metrics() -> None:
    from tests.guards.toy import ToyErrors

    assert CaptionScores(REFERENCES, METRICS).higher_is_better is True
    assert CaptionScores(REFERENCES, [ToyErrors()]).higher_is_better is False
    assert CaptionScores(REFERENCES, ["BLEU", ToyErrors()]).higher_is_better is None


def test_scores_stay_exact_where_the_model_is_of_half_precision() -> None:
    module = torch.nn.Module()
    module.metric = CaptionScores(REFERENCES, METRICS)
    module.half()
    assert scores(updated(module.metric)) == EXPECTED


def test_signatures_and_options() -> None:
    characters = Tokenizer(function=list, name="characters")
    metric = CaptionScores({1: ["一只狗"], 2: ["猫"]}, [RougeL(), Bleu(orders=(1,))], tokenizer=characters)
    metric.update(["狗"], [1])
    assert set(metric.compute()) == {"ROUGE-L", "BLEU-1"}
    assert "tokenizer=function:characters" in str(metric.signatures["ROUGE-L"])
    assert CaptionScores(REFERENCES, ["BLEU"], sync_on_compute=False).sync_on_compute is False


@pytest.mark.parametrize(
    ("preds", "target", "error", "message"),
    [
        ("a dog", [1], CaptionError, r"'preds' must be a list \(got str\)"),
        (["a dog"], 1, CaptionError, r"'target' must be a list \(got int\)"),
        (["a dog"], [1, 2], CaptionError, r"'preds' and 'target' must have the same length \(got 1 and 2\)"),
        (["a dog"], [3], MismatchError, "image 3 is among the candidates but not among the references"),
        ([3], [1], CaptionError, "must be a string"),
        (["a dog"], [1.5], CaptionError, "image id"),
    ],
)
def test_wrong_updates_are_refused(preds: Any, target: Any, error: type[Exception], message: str) -> None:
    metric = CaptionScores({1: ["a"], 2: ["b"]}, METRICS)
    with pytest.raises(error, match=message):
        metric.update(preds, target)


@pytest.mark.parametrize(
    ("preds", "target", "message"),
    [
        (["a dog"], [3], "must be a list of strings"),
        (["a dog"], [[]], "image 0"),
        ([3], [["a"]], "must be a string"),
        (["a dog"], [["a", 3]], "must be a string"),
    ],
)
def test_wrong_references_are_refused_by_the_update(preds: Any, target: Any, message: str) -> None:
    with pytest.raises(CaptionError, match=message):
        CaptionScores(metrics=METRICS).update(preds, target)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(OptionError, match="unknown metric"):
        CaptionScores(REFERENCES, ["CIDEr-X"])
    with pytest.raises(CaptionError, match="references must be a mapping"):
        CaptionScores(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Unexpected keyword arguments"):
        CaptionScores(REFERENCES, ["BLEU"], n_gram=3)


def test_an_empty_batch_is_nothing() -> None:
    metric = CaptionScores(REFERENCES, METRICS)
    metric.update([], [])
    assert scores(updated(metric)) == EXPECTED


def test_capeval_itself_imports_neither_torch_nor_evaluate() -> None:
    code = (
        "import sys, capeval, capeval.integrations;"
        "from capeval import evaluate; evaluate({1: ['a']}, {1: 'a'}, ['BLEU', 'ROUGE-L']);"
        "assert not {'torch', 'torchmetrics', 'evaluate', 'datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)
