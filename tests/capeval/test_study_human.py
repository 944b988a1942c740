"""People scored against people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import Candidates, Evaluator, References, RougeL, Tokenizer
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.formats.judgments.plans import Pair
from capeval.metrics.base import Reads
from capeval.studies.gaming import game
from capeval.studies.human import HumanOptions, human_performance, leave_one_out
from capeval.studies.ranking import rank_references
from capeval.studies.shared import checkpoints
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.words import ComparedMetric

METRICS = ("BLEU", "ROUGE-L", "CIDEr-D")
CAPTIONS = {
    1: ["A dog runs.", "The dog is running.", "A brown dog on grass.", "Dog!"],
    2: ["Two cats sleep.", "Cats on a bed.", "Two cats, asleep.", "a bed with cats"],
    3: ["A red bus.", "A bus on a street.", "The bus drives by.", "Red bus, gray street"],
}


def test_alike_captions_score_as_perfect() -> None:
    alike = {image: [f"the very same caption of image {image}"] * 4 for image in range(5)}
    (made,) = human_performance(alike, METRICS, HumanOptions(references=(2,), draws=3))
    assert made.draws.shape == (3, 6)
    assert made.names == ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D")
    assert made.mean[:5] == pytest.approx(np.ones(5), abs=1e-9)
    assert made.spread == pytest.approx(np.zeros(6), abs=1e-12)


def test_a_draw_is_the_score_of_captions_held_out() -> None:
    """With two captions an image, each draw is one of the four ways to hold one out of each."""
    pairs = {1: CAPTIONS[1][:2], 2: CAPTIONS[2][:2]}
    possible = [
        list(
            Evaluator({1: [pairs[1][1 - a]], 2: [pairs[2][1 - b]]}, METRICS)
            .evaluate({1: pairs[1][a], 2: pairs[2][b]})
            .corpus.values()
        )
        for a in (0, 1)
        for b in (0, 1)
    ]
    (made,) = human_performance(pairs, METRICS, HumanOptions(draws=20))
    seen = {next(i for i, way in enumerate(possible) if way == pytest.approx(row)) for row in made.draws}
    assert len(seen) == 4
    assert made.references is None
    assert made.signatures["BLEU"].references == "1"
    assert made.signatures["BLEU"].tokenizer == str(Tokenizer())
    assert made.signatures["BLEU"].seed == 0


def test_the_seed_decides() -> None:
    first, again, other = (
        human_performance(CAPTIONS, METRICS, HumanOptions(references=(1, 3), seed=seed))[0].draws
        for seed in (4, 4, 5)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_draws_do_not_depend_on_their_number_or_on_other_numbers_of_references() -> None:
    _, long = human_performance(CAPTIONS, METRICS, HumanOptions(references=(1, 2), draws=4))
    (short,) = human_performance(CAPTIONS, METRICS, HumanOptions(references=(2,), draws=2))
    assert np.array_equal(long.draws[:2], short.draws)


def test_leave_one_out_holds_every_caption_out() -> None:
    rows = []
    for position in range(4):
        left = {image: texts[:position] + texts[position + 1 :] for image, texts in CAPTIONS.items()}
        report = Evaluator(left, METRICS).evaluate({i: texts[position] for i, texts in CAPTIONS.items()})
        rows.append(list(report.corpus.values()))
    made = leave_one_out(CAPTIONS, METRICS)
    assert made.draws == pytest.approx(np.array(rows))
    (same,) = human_performance(CAPTIONS, METRICS, HumanOptions(leave_one_out=True))
    assert (same.references, same.draws.tolist()) == (None, made.draws.tolist())
    # Means of images add up to the mean of all; BLEU is of summed counts.
    assert made.mean[4:] == pytest.approx(np.mean(rows, axis=0)[4:])


def test_leave_one_out_counts_captions_of_images_that_have_more() -> None:
    uneven = {**CAPTIONS, 1: [*CAPTIONS[1], "another dog"]}
    made = leave_one_out(uneven, ["ROUGE-L"])
    assert made.draws.shape == (4, 1)
    extra = Evaluator({1: CAPTIONS[1]}, ["ROUGE-L"]).evaluate({1: "another dog"}).corpus["ROUGE-L"]
    assert made.mean[0] == pytest.approx((made.draws.sum() * 3 + extra) / 13)


def test_a_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.json"

    class StopError(Exception):
        pass

    def stop(text: str) -> None:
        if text.startswith("Draw 3"):
            raise StopError

    with pytest.raises(StopError):
        human_performance(CAPTIONS, METRICS, progress=stop, checkpoint=path)
    kept = json.loads(path.read_text())
    assert list(kept["parts"]) == ["0/None", "1/None"]
    # Stored parts are used: a marked part shows in the result.
    kept["parts"]["0/None"][1] = [0.0, 1.0]
    path.write_text(json.dumps(kept))
    (resumed,) = human_performance(CAPTIONS, METRICS, checkpoint=path)
    (whole,) = human_performance(CAPTIONS, METRICS)
    assert resumed.draws[0, 4] == 0
    assert np.array_equal(resumed.draws[1:], whole.draws[1:])


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.json"
    human_performance(CAPTIONS, ["ROUGE-L"], checkpoint=path)
    with pytest.raises(FormatError, match="belongs to other data, metrics, options, seed or version"):
        human_performance(CAPTIONS, ["ROUGE-L"], HumanOptions(seed=1), checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "__version__", "0.0.9")
        with pytest.raises(FormatError, match="version"):
            human_performance(CAPTIONS, ["ROUGE-L"], checkpoint=path)
    path.write_text("[]")
    with pytest.raises(FormatError, match="expected a JSON object with 'key' and 'parts'"):
        human_performance(CAPTIONS, ["ROUGE-L"], checkpoint=path)


def test_too_few_references() -> None:
    with pytest.raises(MismatchError, match=r"at least 5 captions, a candidate and 4 references .got 4"):
        human_performance(CAPTIONS, METRICS, HumanOptions(references=(4,)))
    with pytest.raises(MismatchError, match="got 1 for image 'x'"):
        leave_one_out({"x": ["alone"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"references": (2, 2)}, "must not contain a number twice"),
        ({"references": (0,)}, "'references' must be an integer of at least 1"),
        (
            {"references": (2,), "leave_one_out": True},
            "'--leave-one-out' can't be combined with '--references'",
        ),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        HumanOptions(**options)


class ReadsCaptions(RougeL):
    """A metric that reads captions as written."""

    @property
    def input_kind(self) -> Reads:
        return "captions"


def test_metrics_that_read_captions_as_written_are_refused() -> None:
    metric = ReadsCaptions()
    contenders = [ComparedMetric(metric=metric)]
    pair = Pair(image=1, first="a dog", second="a cat", references=("dogs",))
    honest = Candidates({image: texts[0] for image, texts in CAPTIONS.items()})
    for study in (
        lambda: human_performance(CAPTIONS, [metric]),
        lambda: leave_one_out(CAPTIONS, [metric]),
        lambda: PairScorer([pair], contenders),
        lambda: rank_references(References(CAPTIONS), contenders),
        lambda: game(References(CAPTIONS), honest, contenders),
    ):
        with pytest.raises(
            OptionError, match=r"must read tokens.*got ROUGE-L, beta=1\.2, which reads untokenized captions"
        ):
            study()
