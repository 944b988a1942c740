"""Forecasts of judging against simulated campaigns."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from capeval.cli.app import app
from capeval.data.scores import FloatArray
from capeval.errors import CapevalError, MismatchError, OptionError
from capeval.formats.judgments.ratings import Ratings
from capeval.studies.effort import Agreement, EffortOptions, Prices, estimated_agreement, forecast
from capeval.studies.judging import JudgingOptions, judge
from capeval.studies.votes import is_confident, is_decided, votes_until_confident, votes_until_decided

PRICES = Prices(seconds=9.0, hourly=12.0, fee=0.3, workers=8, hours=3.0)


def campaign(seed: int, agreement: Agreement, images: int, votes: int) -> FloatArray:
    """The votes on each image, yes or no, of a simulated electorate."""
    rng = np.random.default_rng(seed)
    a, b = agreement.yes * agreement.concentration, (1 - agreement.yes) * agreement.concentration
    likes = rng.beta(a, b, images)
    return (rng.random((images, votes)) < likes[:, None]).astype(np.float64)


def test_votes_are_distributed_as_they_are_drawn() -> None:
    agreement = Agreement(yes=0.3, concentration=0.8)
    drawn = campaign(1, agreement, 100_000, 5)
    observed = np.bincount(drawn.sum(axis=1).astype(int), minlength=6) / 100_000
    assert agreement.counts(5) == pytest.approx(observed, abs=0.005)
    assert agreement.counts(5).sum() == pytest.approx(1)
    assert agreement.majority(5) == pytest.approx((drawn.mean(axis=1) > 0.5).mean(), abs=0.005)
    # An even number of votes can be tied, which is half.
    four = campaign(2, agreement, 100_000, 4).mean(axis=1)
    assert agreement.majority(4) == pytest.approx((four > 0.5).mean() + (four == 0.5).mean() / 2, abs=0.005)


@pytest.mark.parametrize(("yes", "concentration"), [(0.25, 1.0), (0.5, 0.3), (0.65, 3.0)])
@pytest.mark.parametrize("votes", [3, 11])
def test_the_forecast_is_that_of_a_simulation(yes: float, concentration: float, votes: int) -> None:
    agreement = Agreement(yes=yes, concentration=concentration)
    made = forecast(
        images=400,
        agreement=agreement,
        prices=PRICES,
        options=EffortOptions(votes=votes, systems=3, curtail=True),
    )
    taken, widths, shares = [], [], []
    for seed in range(30):
        drawn = campaign(seed, agreement, 400, votes)
        signs = np.where(drawn == 1, 1, -1).tolist()
        taken.append(sum(votes_until_decided(each, votes) for each in signs))
        ratings = Ratings(
            image_ids=tuple(range(400)), captions=("a",) * 400, values=drawn, systems=("a",) * 400
        )
        interval = judge(ratings, "M2", JudgingOptions(samples=200, seed=seed)).rows["a"].interval
        widths.append((interval.high - interval.low) / 2)
        shares.append(interval.score)
    hours = 3 * np.mean(taken) * 9 / 3600
    assert made.answers == pytest.approx(3 * np.mean(taken), rel=0.1)
    assert made.hours == pytest.approx(hours, rel=0.1)
    assert made.cost == pytest.approx(hours * 12 * 1.3, rel=0.1)
    assert made.days == pytest.approx(hours / 24, rel=0.1)
    assert made.width == pytest.approx(np.mean(widths), rel=0.1)
    assert made.value == pytest.approx(np.mean(shares), rel=0.1)
    assert made.most_answers == 3 * 400 * votes


@pytest.mark.parametrize(("yes", "concentration"), [(0.25, 1.0), (0.5, 6.0)])
def test_the_forecast_of_pairs_that_end_when_confident_is_that_of_a_simulation(
    yes: float, concentration: float
) -> None:
    agreement = Agreement(yes=yes, concentration=concentration)
    drawn = np.where(campaign(3, agreement, 10_000, 24) == 1, 1, -1).tolist()
    taken = np.mean([votes_until_confident(votes) for votes in drawn])
    made = forecast(
        images=400, agreement=agreement, prices=PRICES, options=EffortOptions(votes=24, confidence=0.95)
    )
    assert made.answers == pytest.approx(400 * taken, rel=0.02)
    assert made.most_answers == 400 * 24
    assert taken < agreement.votes_until_decided(24)
    # By both rules it takes fewer than by either.
    both = np.mean(
        [
            next(n for n in range(1, 25) if is_confident(votes[:n]) or is_decided(votes[:n], 24))
            for votes in drawn
        ]
    )
    said = forecast(
        images=400,
        agreement=agreement,
        prices=PRICES,
        options=EffortOptions(votes=24, confidence=0.95, curtail=True),
    )
    assert said.answers == pytest.approx(400 * both, rel=0.02)
    assert both < taken


def test_the_smallest_difference_is_seen_in_four_of_five_campaigns() -> None:
    agreement = Agreement(yes=0.3, concentration=1.0)
    made = forecast(images=500, agreement=agreement, prices=PRICES)
    better = Agreement(yes=0.3 + made.difference, concentration=1.0)
    gain = better.majority(3) - agreement.majority(3)
    rng = np.random.default_rng(5)
    errors = np.sqrt(2) * made.width / 1.96
    # An unpaired test at 5 % detects this difference with 80 % power.
    seen = rng.normal(gain, errors, 20_000) > 1.96 * errors
    assert gain == pytest.approx(made.difference, rel=0.15)
    assert seen.mean() == pytest.approx(0.8, abs=0.12)


def test_agreement_is_estimated_from_votes() -> None:
    for yes, concentration in ((0.3, 0.5), (0.6, 2.0)):
        drawn = campaign(7, Agreement(yes=yes, concentration=concentration), 20_000, 5)
        found = estimated_agreement([row.astype(int).tolist() for row in drawn])
        assert found.yes == pytest.approx(yes, abs=0.01)
        assert found.concentration == pytest.approx(concentration, rel=0.05)
    with pytest.raises(MismatchError, match="at least one question must have two votes"):
        estimated_agreement([[1], [0]])
    with pytest.raises(MismatchError, match="votes must not all be equal"):
        estimated_agreement([[1, 1]])


def test_without_stopping_all_answers_are_given() -> None:
    made = forecast(images=10, agreement=Agreement(yes=0.5, concentration=1.0), prices=PRICES)
    assert made.answers == made.most_answers == 30


def test_any_number_of_votes_is_forecast() -> None:
    # Beta(1, 1): every number of votes for yes is as likely.
    even = Agreement(yes=0.5, concentration=2.0)
    for votes in (1, 11, 3000):
        assert even.counts(votes) == pytest.approx(np.full(votes + 1, 1 / (votes + 1)), rel=1e-9)
    assert forecast(
        images=10, agreement=even, prices=PRICES, options=EffortOptions(votes=3000)
    ).value == pytest.approx(0.5)


AGREEMENT = Agreement(yes=0.5, concentration=1.0)


def test_wrong_options_are_named() -> None:
    for wrong, message in (
        (lambda: Agreement(yes=1.5, concentration=1.0), "'yes' must be a number from 0.001"),
        (lambda: Prices(seconds=0.0, hourly=1.0), "'seconds' must be a number above 0"),
        (
            lambda: forecast(images=0, agreement=AGREEMENT, prices=PRICES),
            "'images' must be an integer of at least 1",
        ),
        (lambda: EffortOptions(confidence=0.5), "'confidence' must be a number from 0.55 to 0.9999"),
        (lambda: EffortOptions(confidence=0.9, least=0), "'least' must be an integer of at least 1"),
        (lambda: AGREEMENT.votes_until_confident(3, level=1), "'level' must be a number from 0.55"),
    ):
        with pytest.raises(OptionError, match=message):
            wrong()


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", "effort", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_the_command_shows_the_forecast(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'--least' requires '--confidence'"):
        run(1000, "--least", 3)
    shown = run(1000, "--systems", 17, "--votes", 3, "--yes", 0.25)
    assert "51000" in shown.replace(",", "")
    pilot = tmp_path / "pilot.csv"
    rows = "".join(f"{n},a,{int(n % 3 == 0)},{int(n % 4 == 0)},\n" for n in range(60))
    pilot.write_text("image_id,caption,rating_1,rating_2,rating_3\n" + rows)
    shown = run(1000, "--votes", 11, "--curtail", "--pilot", pilot)
    assert "Assumed: 29.2 % yes answers" in shown
    with pytest.raises(CapevalError, match="can't be combined with '--pilot'"):
        run(1000, "--pilot", pilot, "--yes", 0.5)
