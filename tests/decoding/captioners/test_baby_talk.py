"""Neural Baby Talk's core: against the published modules, and through the search.

`baby_talk.npz` is what `TopDownCore` and the head for plurals of `CascadeCore` of jiasenlu/NeuralBabyTalk
(commit c351ae6, misc/AttModel.py) compute with PyTorch 1.13 on small random weights, in `eval()`: four words,
of which the third and fourth may not point to the third object. Names of weights are theirs; the head's
`bn_fc.3` is `bn_fc.2` here, where there is no dropout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from capeval.errors import OptionError
from capeval_decoding.baselines.baby_talk import (
    BabyTalk,
    BabyTalkImage,
    BabyTalkSizes,
    SlotName,
    load_image,
    make_slot_constraint,
)
from capeval_decoding.baselines.features import FeatureFile
from capeval_decoding.search import BeamSearch
from capeval_decoding.state_machines import build_state_machine
from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from tests.decoding.captioners.data import write_features

VOCABULARY = Vocabulary((UNKNOWN, BOUNDARY, "a", "dog", "runs", "on"))
NAMES = (SlotName(one="dog", many="dogs"), SlotName(one="fire hydrant", many="fire hydrants"))
SIZES = BabyTalkSizes(feature=9, context=10, class_vector=6, embedding=8, hidden=12, attention=7)
WORDS = len(VOCABULARY)
SEARCH = BeamSearch(start=1, end=1, per_node=5, max_steps=8)


def model(seed: int = 0) -> BabyTalk:
    torch.manual_seed(seed)
    made = BabyTalk(VOCABULARY, NAMES, np.random.default_rng(seed).random((2, 6)), SIZES)
    for parameter in made.parameters():
        parameter.data.normal_(0, 0.5)
    made.eval()
    return made


def image(seed: int = 0, **changes: Any) -> BabyTalkImage:
    generator = np.random.default_rng(seed)
    made = {
        "features": generator.random((3, 9), dtype=np.float32),
        "boxes": generator.random((3, 5), dtype=np.float32),
        "classes": np.array([0, 1, 0]),
        "context": generator.random((4, 10), dtype=np.float32),
    }
    return BabyTalkImage(**{**made, **changes})


def test_the_modules_are_those_of_the_published_code() -> None:
    with np.load(Path(__file__).with_name("baby_talk.npz")) as file:
        golden = {name: torch.from_numpy(file[name]) for name in file.files}
    made = model()
    core = {name[5:]: value for name, value in golden.items() if name.startswith("core.")}
    made.core.load_state_dict(core)
    made.bn_fc.load_state_dict(
        {name[len("plural.bn_fc.") :]: value for name, value in golden.items() if name.startswith("plural.")}
    )
    cells = (torch.zeros(1, 12),) * 4
    context = (golden["context"], golden["context_projected"])
    objects = (golden["objects"], golden["objects_projected"])
    taken = torch.zeros(1, 5, dtype=torch.bool)
    with torch.no_grad():
        for place, word in enumerate(golden["words"]):
            taken[0, 2] = place >= 2
            hidden, places, cells = made.core(word, golden["whole"], context, objects, taken, cells)
            torch.testing.assert_close(hidden[0], golden["outputs"][place], rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(places[0], golden["places"][place], rtol=1e-5, atol=1e-6)
            plural = torch.log_softmax(made._score_plurals(hidden, objects[0])[0, place], dim=0)
            torch.testing.assert_close(plural, golden["plurals"][place], rtol=1e-5, atol=1e-6)


def test_words_share_the_sentinels_probability_and_no_object_is_pointed_to_twice() -> None:
    step, state = model().make_step(image())
    scores, state = step(np.array([1]), state)
    assert scores.shape == (1, WORDS + 3)
    np.testing.assert_allclose(np.exp(scores).sum(), 1, rtol=1e-5)
    scores, state = step(np.array([WORDS + 1]), state)
    assert scores[0, WORDS + 1] == -np.inf
    np.testing.assert_allclose(np.exp(scores).sum(), 1, rtol=1e-5)
    scores, _ = step(np.array([2]), state)
    assert scores[0, WORDS + 1] == -np.inf


@pytest.mark.parametrize("seed", range(3))
def test_constraints_are_met_by_slots_or_words(seed: int) -> None:
    made, seen = model(seed), image(seed)
    dog = make_slot_constraint("Dog", ["dog", "dogs"], made, seen, [0])
    hydrant = make_slot_constraint("Fire hydrant", ["fire hydrant"], made, seen, [1])
    assert dog.phrases == ((frozenset({WORDS, WORDS + 2}),), (frozenset({3}),))
    assert hydrant.phrases == ((frozenset({WORDS + 1}),),)
    step, state = made.make_step(seen)
    found = SEARCH.search(
        step, state, build_state_machine([dog, hydrant]), select=lambda each, rows: each.rows(rows)
    )
    best = found.get_best(at_least=2)
    assert best is not None
    text = made.caption(seen, best.tokens)
    assert "dog" in text
    assert "fire hydrant" in text
    total, (step, state) = 0.0, made.make_step(seen)
    for last, token in zip((1, *best.tokens), (*best.tokens, 1), strict=True):
        scores, state = step(np.array([last]), state)
        total += float(scores[0, token]) if token != 1 or best.finished else 0
    assert total == pytest.approx(best.log_probability, abs=1e-4)


def test_slots_are_filled_with_one_or_many() -> None:
    made, seen = model(), image()
    tokens = [2, WORDS, 5, WORDS + 1]
    for many in (0, 1):
        made.bn_fc[2].bias.data = torch.tensor([0.0, 1000.0]) * (2 * many - 1)
        expected = "a dogs on fire hydrants" if many else "a dog on fire hydrant"
        assert made.caption(seen, tokens) == expected


def test_objects_of_ground_truth_are_all_that_slots_can_name() -> None:
    truth = image(classes=np.array([1, 1, 1]))
    made = model()
    with pytest.raises(OptionError, match="constraint 'Cat' has no phrase with all words in the vocabulary"):
        make_slot_constraint("Cat", ["cat"], made, truth, [0])
    assert "dog" not in made.caption(truth, [WORDS, WORDS + 1, WORDS + 2])
    # Through the search, the true object is pointed to, since no word of the vocabulary names it.
    step, state = made.make_step(truth)
    machine = build_state_machine([make_slot_constraint("Fire hydrant", ["fire hydrant"], made, truth, [1])])
    best = SEARCH.search(step, state, machine, select=lambda each, rows: each.rows(rows)).get_best(at_least=1)
    assert best is not None
    assert set(best.tokens) & {WORDS, WORDS + 1, WORDS + 2}
    assert "fire hydrant" in made.caption(truth, best.tokens)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"features": np.ones((3, 8), dtype=np.float32)}, r"'features' must have the shape \(3, 9\)"),
        ({"boxes": np.ones((3, 4), dtype=np.float32)}, r"'boxes' must have the shape \(3, 5\)"),
        ({"context": np.ones((0, 10), dtype=np.float32)}, "'context' must have .* at least one row"),
        ({"classes": np.array([0, 1, 2])}, r"'classes' must be from 0 to 1 \(got 2\)"),
    ],
)
def test_images_that_do_not_fit(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        model().make_step(image(**changes))


def test_vectors_that_do_not_fit() -> None:
    with pytest.raises(
        OptionError, match="'vectors' must have a row for each of the 2 classes and 6 columns"
    ):
        BabyTalk(VOCABULARY, NAMES, np.ones((2, 5)), SIZES)


def test_images_from_files_of_features(tmp_path: Path) -> None:
    seen = image()
    boxes = [[0, 0, 320, 240], [64, 48, 640, 480], [0, 0, 640, 480]]
    classes = {7: seen.classes}
    write_features(tmp_path / "objects.h5", {7: seen.features}, boxes={7: boxes}, classes=classes)
    write_features(tmp_path / "context.h5", {7: seen.context})
    with FeatureFile(tmp_path / "objects.h5") as objects, FeatureFile(tmp_path / "context.h5") as context:
        found = load_image(objects, context, 7)
    np.testing.assert_array_equal(found.features, seen.features)
    np.testing.assert_array_equal(found.context, seen.context)
    np.testing.assert_array_equal(found.classes, seen.classes)
    parts = np.array([[0, 0, 0.5, 0.5, 1], [0.1, 0.1, 1, 1, 1], [0, 0, 1, 1, 1]])
    assert np.abs(found.boxes - parts).max() < 1e-6
    made = model()
    step, state = made.make_step(found)
    assert step(np.array([1]), state)[0].shape == (1, WORDS + 3)
