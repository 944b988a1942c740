"""Search and published state machine compared with golden results of the published code and weights."""

from __future__ import annotations

import numpy as np
import pytest

from capeval_decoding.search import Beam, BeamSearch, SearchResult
from capeval_decoding.state_machines import StateMachine, build_published_machine, build_state_machine
from tests.decoding.golden import CONSTRAINTS, WORDS, constraints, golden, updown

OPTIONS = BeamSearch(start=1, end=1, beam_size=5, per_node=2, max_steps=12)
# Beams of the published code at or under this cannot exist.
IMPOSSIBLE = -1e20


def found(image: int, machine: StateMachine) -> SearchResult:
    step, state = updown(golden(), "glove", image)
    return OPTIONS.search(step, state, machine)


def padded(beam: Beam | None) -> list[int]:
    """A caption as in the golden file: 12 tokens, of which the end fills up the last."""
    assert beam is not None
    return [*beam.tokens, *[1] * (12 - len(beam.tokens))]


@pytest.mark.parametrize("model", ["learned", "glove"])
def test_the_first_step_and_the_beams_are_the_published_models(model: str) -> None:
    arrays = golden()
    for image in range(3):
        step, state = updown(arrays, model, image)
        np.testing.assert_allclose(
            step(np.array([1]), state)[0][0], arrays[f"{model}.step0"][image], atol=1e-4
        )
        beams = OPTIONS.search(step, state, build_state_machine([])).beams
        assert [padded(beam) for beam in beams] == arrays[f"{model}.beams"][image].tolist()
        np.testing.assert_allclose(
            [b.log_probability for b in beams], arrays[f"{model}.beamlp"][image], atol=1e-4
        )


@pytest.mark.parametrize("image", range(3))
def test_the_published_machine_is_that_of_the_published_code(image: int) -> None:
    dense = golden()["cbs.fsm"][image]
    # That code always makes the states of three constraints.
    wanted = [*constraints(image)]
    machine = build_published_machine(wanted)
    main, theirs = 1 << len(wanted), int(golden()["cbs.nstates"][image])
    number = {state: state if state < main else state - main + 8 for state in range(len(machine))}
    assert max(number.values()) < theirs
    for state in range(len(machine)):
        for word in range(len(WORDS)):
            expected = np.flatnonzero(dense[number[state], :, word]).tolist()
            assert sorted(number[each] for each in machine.get_targets(state, word)) == expected


@pytest.mark.parametrize("image", range(3))
def test_all_beams_are_those_of_the_published_code(image: int) -> None:
    arrays, machine = golden(), build_published_machine(constraints(image))
    beams = found(image, machine).beams
    main = 1 << len(CONSTRAINTS[image])
    count = 0
    for state in range(len(machine)):
        theirs = state if state < main else state - main + 8
        possible = arrays["cbs.lp"][image, theirs] > IMPOSSIBLE
        ours = [beam for beam in beams if beam.state == state]
        assert [padded(beam) for beam in ours] == arrays["cbs.p"][image, theirs][possible].tolist()
        np.testing.assert_allclose(
            [beam.log_probability for beam in ours], arrays["cbs.lp"][image, theirs][possible], atol=1e-4
        )
        count += len(ours)
    assert count == (arrays["cbs.lp"][image] > IMPOSSIBLE).sum() > 0


@pytest.mark.parametrize("image", range(3))
@pytest.mark.parametrize("at_least", [1, 2, 3])
def test_the_captions_are_those_of_the_published_code(image: int, at_least: int) -> None:
    best = found(image, build_published_machine(constraints(image))).get_best(at_least=at_least)
    assert padded(best) == golden()[f"cbs.best{at_least}"][image].tolist()
