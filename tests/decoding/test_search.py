"""Search compared with its twin and with exhaustive search; state machines; validation errors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval.errors import OptionError
from capeval_decoding.search import Beam, BeamSearch, select_rows
from capeval_decoding.state_machines import (
    Constraint,
    StateMachine,
    build_published_machine,
    build_state_machine,
)
from tests.twins import beam_search as twin

START = END = 0
Tokens = tuple[int, ...]


class Model:
    """A captioner of random log-probabilities, some of them -inf, that depend on all of the tokens before."""

    def __init__(self, seed: int, vocabulary: int) -> None:
        self.seed = seed
        self.vocabulary = vocabulary

    def __call__(self, tokens: Tokens) -> Sequence[float]:
        drawn = np.random.default_rng([self.seed, *tokens])
        chances = drawn.dirichlet(np.ones(self.vocabulary)) * (drawn.random(self.vocabulary) < 0.8)
        with np.errstate(divide="ignore"):
            return [float(value) for value in np.log(chances)]

    def step(self, tokens: Any, state: Any) -> tuple[Any, Any]:
        before = np.concatenate([state, tokens[:, None]], axis=1)
        return np.array([self(tuple(row[1:])) for row in before.tolist()]), before

    def start(self) -> Any:
        return np.empty((1, 0), dtype=np.int64)


# Of machines with pieces of words, tokens 3 and 4 are such pieces.
PIECES = np.array([False, False, False, True, True])


def phrases(first: int) -> st.SearchStrategy[tuple[frozenset[int], ...]]:
    """Return a strategy of phrases; the first word has tokens up to `first`."""
    word = st.frozensets(st.integers(1, 4), min_size=1, max_size=3)
    begin = st.frozensets(st.integers(1, first), min_size=1, max_size=3)
    return st.tuples(begin, st.lists(word, max_size=2)).map(lambda parts: (parts[0], *parts[1]))


def constraints(first: int, most: int = 2) -> st.SearchStrategy[list[Constraint]]:
    """Up to three constraints of up to `most` phrases."""
    made = st.lists(phrases(first), min_size=1, max_size=most)
    return st.lists(made.map(lambda each: Constraint(name="it", phrases=tuple(each))), max_size=3)


plain = constraints(4).map(build_state_machine)
pieces = constraints(2).map(lambda given: build_state_machine(given, continues=PIECES))
published = constraints(4, most=1).map(build_published_machine)


# Each takes a few milliseconds.
@settings(max_examples=200)
@given(
    plain | pieces | published,
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4, 12]),
    st.integers(1, 6),
)
def test_the_search_is_its_twin(
    machine: StateMachine, seed: int, beam_size: int, per_node: int, max_steps: int
) -> None:
    model = Model(seed, 5)
    options = BeamSearch(start=START, end=END, beam_size=beam_size, per_node=per_node, max_steps=max_steps)
    beams = options.search(model.step, model.start(), machine).beams
    expected = twin.search(
        model, machine, end=END, beam_size=beam_size, per_node=per_node, max_steps=max_steps
    )
    found: dict[int, list[Any]] = {}
    for beam in beams:
        found.setdefault(beam.state, []).append((*beam.tokens, *[END] * beam.finished))
        assert beam.met == machine.met[beam.state]
    assert found == {state: [caption for caption, _ in each] for state, each in expected.items()}
    logs = [total for each in expected.values() for _, total in each]
    np.testing.assert_allclose([beam.log_probability for beam in beams], logs, atol=1e-9)


def all_captions(model: Model, length: int) -> Iterator[tuple[Tokens, float]]:
    """Yield each caption of at most `length` tokens, end token included, with its log-probability."""
    growing: list[tuple[Tokens, float]] = [((), 0.0)]
    for _ in range(length):
        following = []
        for before, total in growing:
            for token, score in enumerate(model(before)):
                if score > -np.inf:
                    if token == END:
                        yield before, total + score
                    else:
                        following.append(((*before, token), total + score))
        growing = following
    yield from growing


def is_met(constraint: Constraint, caption: Tokens, continues: Any) -> bool:
    """Whether a caption has one of the phrases, read from the definition."""
    for phrase, at in itertools.product(constraint.phrases, range(len(caption))):
        part, behind = caption[at : at + len(phrase)], caption[at + len(phrase) : at + len(phrase) + 1]
        here = len(part) == len(phrase) and all(
            token in place for token, place in zip(part, phrase, strict=True)
        )
        if here and (continues is None or not behind or not continues[behind[0]]):
            return True
    return False


@settings(max_examples=200)
@given(
    constraints(4).map(lambda given: (given, None)) | constraints(2).map(lambda given: (given, PIECES)),
    st.integers(0, 2**32),
    st.integers(1, 4),
)
def test_a_wide_beam_finds_the_best_of_all_captions(
    described: tuple[list[Constraint], Any], seed: int, length: int
) -> None:
    given, continues = described
    model, machine = Model(seed, 5), build_state_machine(given, continues=continues)
    options = BeamSearch(start=START, end=END, beam_size=1000, per_node=1000, max_steps=length)
    result = options.search(model.step, model.start(), machine)
    captions = list(all_captions(model, length))
    assert len(result.beams) == len(captions)
    for at_least in range(4):
        meeting = [
            (total, caption)
            for caption, total in captions
            if sum(is_met(each, caption, continues) for each in given) >= min(at_least, len(given))
        ]
        best = result.get_best(at_least=at_least)
        assert (best is None) == (not meeting)
        if best is not None:
            total, caption = max(meeting)
            assert best.log_probability == pytest.approx(total)
            assert best.tokens == caption
            assert best.met == {at for at, each in enumerate(given) if is_met(each, caption, continues)}


# A made-up vocabulary for the tests below.
WORDS = ("@end", "a", "fire", "hydrant", "hydrants", "dog", "##gy", "park")


def phrase(*places: str) -> tuple[frozenset[int], ...]:
    """The tokens of a phrase; the forms of a word are written "hydrant|hydrants"."""
    return tuple(frozenset(map(WORDS.index, place.split("|"))) for place in places)


HYDRANT = Constraint(name="fire hydrant", phrases=(phrase("fire", "hydrant|hydrants"),))
DOG = Constraint(name="dog", phrases=(phrase("dog"), phrase("dog", "##gy")))
RUN_ON = np.array([word.startswith("##") for word in WORDS])


def met(machine: StateMachine, text: str) -> list[frozenset[int]]:
    """Return the constraints met after each word, over all states that the caption can reach."""
    states, found = {0}, []
    for word in text.split():
        states = {to for state in states for to in machine.get_targets(state, WORDS.index(word))}
        found.append(frozenset().union(*(machine.met[state] for state in states if machine.final[state])))
    return found


def test_a_prefix_that_comes_again_counts() -> None:
    ours, published = build_state_machine([HYDRANT]), build_published_machine([HYDRANT])
    for text, expected in (("fire hydrants", True), ("a fire a hydrant", False), ("hydrant fire", False)):
        assert bool(met(ours, text)[-1]) == bool(met(published, text)[-1]) == expected
    assert met(ours, "fire fire hydrant")[-1] == {0}
    assert met(published, "fire fire hydrant")[-1] == set()


def test_a_word_that_runs_on_is_another_word() -> None:
    dog = Constraint(name="dog", phrases=(phrase("dog"),))
    assert met(build_state_machine([dog]), "a dog ##gy park")[-1] == {0}
    machine = build_state_machine([dog], continues=RUN_ON)
    assert met(machine, "a dog ##gy park") == [set(), {0}, set(), set()]
    assert met(machine, "a dog park") == [set(), {0}, {0}]
    assert met(machine, "dog ##gy dog @end")[-1] == {0}
    assert met(build_state_machine([DOG], continues=RUN_ON), "a dog ##gy")[-1] == {0}
    doggy = Constraint(name="doggy", phrases=(phrase("dog", "##gy"),))
    assert met(build_state_machine([dog, doggy], continues=RUN_ON), "dog ##gy park")[1:] == [{1}, {1}]


def test_words_of_one_constraint_inside_of_another_count() -> None:
    fire = Constraint(name="fire", phrases=(phrase("fire"),))
    assert met(build_state_machine([HYDRANT, fire]), "fire hydrant") == [{1}, {0, 1}]
    assert len(build_state_machine([])) == 1


class Chances:
    """A captioner with the given probabilities of the next word, and 0 for all other words."""

    def __init__(self, after: dict[str, dict[str, float]]) -> None:
        self.table = np.full((len(WORDS), len(WORDS)), -np.inf)
        for word, chances in after.items():
            for following, chance in chances.items():
                self.table[WORDS.index(word), WORDS.index(following)] = np.log(chance)

    def step(self, tokens: Any, state: None) -> tuple[Any, None]:
        return self.table[tokens], None


FIRES = Chances(
    {
        "@end": {"a": 1.0},
        "a": {"fire": 0.9, "dog": 0.1},
        "fire": {"@end": 0.99, "fire": 0.01},
        "dog": {"@end": 1.0},
    }
)
SEARCH = BeamSearch(start=0, end=0)


def text(beam: Beam | None) -> str | None:
    return None if beam is None else " ".join(WORDS[token] for token in beam.tokens)


def test_at_least_so_many_constraints_are_met() -> None:
    dog = Constraint(name="dog", phrases=(phrase("dog"),))
    fire = Constraint(name="fire", phrases=(phrase("fire"),))
    result = SEARCH.search(FIRES.step, None, build_state_machine([dog, fire]))
    assert text(result.get_best()) == text(result.get_best(at_least=1)) == "a fire"
    # No caption has both: this is reported, and no caption contains an impossible phrase.
    assert result.get_best(at_least=2) is None
    assert all(beam.log_probability > -100 for beam in result.beams)
    only_dog = SEARCH.search(FIRES.step, None, build_state_machine([dog]))
    assert text(only_dog.get_best(at_least=3)) == "a dog"
    assert only_dog.get_best(at_least=1).met == {0}  # type: ignore[union-attr]


def test_a_caption_goes_on_with_so_many_tokens_into_a_state() -> None:
    words = {"fire": 0.4, "dog": 0.3, "park": 0.2, "a": 0.1}
    model = Chances({"@end": {"a": 1.0}, "a": words})
    named = build_state_machine([Constraint(name="any", phrases=(phrase("fire|dog|park"),))])
    for per_node in (1, 2, 3):
        options = BeamSearch(start=0, end=0, per_node=per_node, max_steps=2)
        beams = options.search(model.step, None, named).beams
        assert [text(beam) for beam in beams] == ["a a", "a fire", "a dog", "a park"][: 1 + per_node]


def test_a_caption_that_is_cut_says_so() -> None:
    short = BeamSearch(start=0, end=0, max_steps=2).search(FIRES.step, None, build_state_machine([]))
    assert [(text(beam), beam.finished) for beam in short.beams] == [("a fire", False), ("a dog", False)]
    assert all(beam.finished for beam in SEARCH.search(FIRES.step, None, build_state_machine([])).beams[:1])


def test_a_model_without_any_caption_is_reported() -> None:
    nothing = Chances({"@end": {"a": 1.0}})
    result = SEARCH.search(nothing.step, None, build_state_machine([]))
    assert result.beams == ()
    assert result.get_best() is None
    with pytest.raises(OptionError, match=r"at least one caption a probability above 0 \(got none\)"):
        result.get_fallback()


def test_states_of_captioners_are_taken_apart() -> None:
    rows = np.array([1, 1, 0])
    state = {"a": np.arange(4).reshape(2, 2), "b": (np.arange(2), [np.array([5, 6])]), "c": None}
    taken = select_rows(state, rows)
    assert taken["a"].tolist() == [[2, 3], [2, 3], [0, 1]]
    assert taken["b"][0].tolist() == [1, 1, 0]
    assert taken["b"][1][0].tolist() == [6, 6, 5]
    assert taken["c"] is None


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros((2, 8)), r"must return floats of \(1, vocabulary\) \(got float64 of \(2, 8\)\)"),
        (np.zeros((1, 8), dtype=int), r"must return floats"),
        (np.full((1, 8), 3.5), r"must return log-probabilities, of at most 0 \(got 3.5\)"),
        (np.full((1, 8), np.nan), r"must return log-probabilities, of at most 0 \(got nan\)"),
        (np.zeros((1, 3)), r"must be below 3, .* \(got 4\)"),
    ],
)
def test_a_step_that_is_none_is_refused(returned: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SEARCH.search(lambda *_: (returned, None), None, build_state_machine([HYDRANT]))


def test_options_and_constraints_that_are_none_are_refused() -> None:
    with pytest.raises(OptionError, match="'beam_size' must be an integer of at least 1"):
        BeamSearch(start=0, end=0, beam_size=0)
    with pytest.raises(OptionError, match="'end' must not be a token of a constraint"):
        BeamSearch(start=0, end=2).search(FIRES.step, None, build_state_machine([HYDRANT]))
    with pytest.raises(OptionError, match="'end' must be a token of the machine that begins a word"):
        BeamSearch(start=0, end=6).search(FIRES.step, None, build_state_machine([], continues=RUN_ON))
    with pytest.raises(OptionError, match="constraint 'x' must have at least one phrase"):
        Constraint(name="x", phrases=())
    with pytest.raises(OptionError, match="each phrase of constraint 'x' must have at least one word"):
        Constraint(name="x", phrases=((frozenset(),),))
    with pytest.raises(OptionError, match="must begin with tokens that begin a word"):
        build_state_machine([Constraint(name="x", phrases=(phrase("##gy"),))], continues=RUN_ON)
    with pytest.raises(OptionError, match="tokens of constraint 'x' must be from 0 to 7"):
        build_state_machine([Constraint(name="x", phrases=((frozenset({9}),),))], continues=RUN_ON)
    with pytest.raises(OptionError, match="must have one phrase in the published machine"):
        build_published_machine([DOG])
    many = [Constraint(name=str(token), phrases=((frozenset({token}),),)) for token in range(13)]
    for make in (build_state_machine, build_published_machine):
        with pytest.raises(OptionError, match="13 constraints need more than 4,096 states"):
            make(many)
