"""Arrays of scores in the tables."""

from __future__ import annotations

import numpy as np
import pytest

from capeval_server.challenges.importing import import_challenge
from capeval_server.challenges.models import Challenge, ReferenceSet, ReferenceVersion
from capeval_server.examples import write_example
from capeval_server.submissions.models import ImageScores, Result, Score, Submission
from capeval_server.submissions.stored import (
    image_scores_of,
    packed_image_scores,
    packed_samples,
    samples_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    import_challenge(write_example("small", tmp_path_factory.mktemp("small")))
    reference_set = ReferenceSet.objects.get(split__challenge=Challenge.objects.get(), name="c1")
    submission = Submission.objects.create(baseline_of=reference_set, algorithm="human")
    version = ReferenceVersion.objects.get(reference_set=reference_set)
    return Result.objects.create(submission=submission, reference_version=version, metric="BLEU")


def test_samples_come_back(result: Result) -> None:
    values = np.array([0.1, np.nan, 1 / 3])
    made = Score.objects.create(result=result, name="BLEU-1", value=0.1, samples=packed_samples(values))
    found = samples_of(Score.objects.get(pk=made.pk))
    assert found is not None
    np.testing.assert_array_equal(found, values.astype(np.float32))
    assert found.dtype == np.float32
    assert samples_of(Score.objects.create(result=result, name="BLEU-2", value=0.1)) is None


def test_scores_of_images_come_back(result: Result) -> None:
    assert image_scores_of(result) is None
    values = np.array([[0.1, 0.2], [1 / 3, 0.0], [1.0, 2 / 7]])
    ImageScores.objects.create(result=result, names=["a", "b"], values=packed_image_scores(values))
    found = image_scores_of(Result.objects.get(pk=result.pk))
    assert found is not None
    assert found[0] == ["a", "b"]
    np.testing.assert_array_equal(found[1], values)
