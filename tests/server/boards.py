"""Leaderboards of our own making, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.contrib.auth.models import User

from capeval.metrics.registry import get_metric
from capeval_server.challenges.models import Phase, ReferenceVersion
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.scoring.score_arrays import packed_samples
from capeval_server.teams.services.enrollment import make_team
from tests.server.kit import METRICS

__all__ = ["around", "baseline", "score", "score_again", "stand", "version"]


def version(references: str = "c2") -> ReferenceVersion:
    """The version of references that counts now."""
    found = ReferenceVersion.objects.select_related("reference_set").order_by("-number")
    return found.filter(reference_set__name=references)[0]


def around(value: float, *, spread: float = 0.01, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The score in resamples, as if they gave it this much."""
    return value + np.random.default_rng(seed).normal(0, spread, 100)


def score(
    submission: Submission,
    scores: Mapping[str, float | None],
    *,
    of: ReferenceVersion | None = None,
    subset: str = "",
    samples: Any = None,
) -> None:
    """Create scores of a submission, one result per metric."""
    for metric in METRICS:
        names = [name for name in get_metric(metric).names if name in scores]
        if names:
            result, _ = Result.objects.get_or_create(
                submission=submission, reference_version=of or version(), metric=metric
            )
            for name in names:
                value = scores[name]
                kept = b"" if samples is None else packed_samples(samples)
                ends = {} if value is None else {"low": value - 0.1, "high": value + 0.1}
                Score.objects.create(
                    result=result, subset=subset, name=name, value=value, samples=kept, **ends
                )


def score_again(submission: Submission, scores: Mapping[str, float | None]) -> None:
    """Replace the scores of a submission, as scoring it again does."""
    Result.objects.filter(submission=submission).delete()
    score(submission, scores)
    submission.save()


def stand(team: str, value: float | None = None, *, samples: Any = None, **about: Any) -> Submission:
    """A submission on the leaderboard, of a team of its own, with a CIDEr-D of our choice."""
    phase = about.pop("phase", None) or Phase.objects.get()
    user = User.objects.create(username=f"user{User.objects.count()}")
    submission = Submission.objects.create(
        team=make_team(user, phase.challenge, team),
        user=user,
        phase=phase,
        **{"algorithm": "a", "state": "scored", "stands": True, **about},
    )
    if submission.state == "scored":
        score(submission, {"CIDEr-D": value}, samples=samples)
    return submission


def baseline(value: float) -> Submission:
    """A human baseline."""
    made = Submission.objects.create(baseline_of=version().reference_set, algorithm="human", state="scored")
    score(made, {"CIDEr-D": value})
    return made
