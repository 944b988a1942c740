"""Up-Down compared with results of the published code for the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from capeval_decoding.baselines.captioning import make_updown_step
from capeval_decoding.baselines.updown import UpDown, UpDownSizes, check_parameters
from capeval_decoding.search import Beam, BeamSearch
from capeval_decoding.state_machines import build_published_machine, build_state_machine
from capeval_decoding.vocabulary import Vocabulary
from tests.decoding.golden import WORDS, Arrays, constraints, golden

MODELS = ("learned", "glove")
SEARCH = BeamSearch(start=1, end=1, beam_size=5, per_node=2, max_steps=12)


@pytest.fixture(scope="module")
def expected() -> Arrays:
    return golden()


def model_of(name: str, arrays: Arrays) -> UpDown:
    embedding = arrays[f"{name}.sd._embedding_layer.weight"].shape[1]
    sizes = UpDownSizes(feature=24, embedding=embedding, hidden=32, attention=16, fixed=name == "glove")
    model = UpDown(Vocabulary(WORDS), sizes)
    parameters = {key[len(name) + 4 :]: torch.tensor(arrays[key]) for key in arrays if f"{name}.sd." in key}
    check_parameters(parameters, model)
    model.load_state_dict(parameters)
    return model


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_losses_and_gradients(expected: Arrays, name: str) -> None:
    model = model_of(name, expected)
    loss = model.loss(torch.tensor(expected[f"{name}.x"]), torch.tensor(expected[f"{name}.caps"]))
    close(loss.detach(), expected[f"{name}.loss"])
    loss.mean().backward()
    gradients = {key: each.grad for key, each in model.named_parameters() if each.requires_grad}
    wanted = {key[len(name) + 6 :]: expected[key] for key in expected if f"{name}.grad." in key}
    assert set(gradients) == set(wanted)
    for key, gradient in wanted.items():
        assert np.abs(gradients[key].numpy() - gradient).max() <= 1e-5 * np.abs(gradient).max(), key


@pytest.mark.parametrize("name", MODELS)
def test_the_first_step(expected: Arrays, name: str) -> None:
    model = model_of(name, expected)
    with torch.no_grad():
        regions = model.regions(torch.tensor(expected[f"{name}.x"]))
        scores, _ = model.step(torch.ones(3, dtype=torch.long), regions, model.get_initial_state(3))
    close(scores, expected[f"{name}.step0"])


def padded(beam: Beam | None) -> list[int]:
    """A caption as in the golden file, where the end fills up the last of 12 tokens."""
    assert beam is not None
    return [*beam.tokens, *[1] * (12 - len(beam.tokens))]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("image", range(3))
def test_beams(expected: Arrays, name: str, image: int) -> None:
    found = SEARCH.search(
        *make_updown_step(model_of(name, expected), expected[f"{name}.x"][image]), build_state_machine([])
    )
    assert [padded(beam) for beam in found.beams] == expected[f"{name}.beams"][image].tolist()
    close([beam.log_probability for beam in found.beams], expected[f"{name}.beamlp"][image])


@pytest.mark.parametrize("image", range(3))
def test_constrained_beams(expected: Arrays, image: int) -> None:
    machine = build_published_machine(constraints(image))
    found = SEARCH.search(*make_updown_step(model_of("glove", expected), expected["glove.x"][image]), machine)
    for least in (1, 2, 3):
        assert padded(found.get_best(at_least=least)) == expected[f"cbs.best{least}"][image].tolist()
    # That code has beams in all states of three constraints, also in those that no caption can be in.
    possible = expected["cbs.lp"][image] > -1e20
    close([beam.log_probability for beam in found.beams], expected["cbs.lp"][image][possible])
    assert [padded(beam) for beam in found.beams] == expected["cbs.p"][image][possible].tolist()


def test_padding_changes_nothing(expected: Arrays) -> None:
    model, features = model_of("learned", expected), expected["learned.x"][2]
    regions = features[np.abs(features).sum(axis=1) > 0]
    assert len(regions) < len(features)
    one, other = (
        SEARCH.search(*make_updown_step(model, each), build_state_machine([])).beams
        for each in (features, regions)
    )
    assert [beam.tokens for beam in one] == [beam.tokens for beam in other]
    close([beam.log_probability for beam in one], [beam.log_probability for beam in other])


def test_unknown_words_have_no_loss_and_the_caption_ends_after_its_last_word(expected: Arrays) -> None:
    model, features = model_of("learned", expected), torch.tensor(expected["learned.x"][:1])
    with torch.no_grad():
        regions, cells = model.regions(features), model.get_initial_state(1)
        loss = 0.0
        for given, wanted in ((1, 5), (5, None), (0, 7), (7, 1)):
            scores, cells = model.step(torch.tensor([given]), regions, cells)
            loss -= 0 if wanted is None else float(scores[0, wanted])
        found = model.loss(features, torch.tensor([[5, 0, 7, 0, 0]]))
    close(found, [loss])
