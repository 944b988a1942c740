"""CLIPScore equals the published code, with features and pictures in place of a published checkpoint."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.metrics.clip_score import compare_features
from capeval.resources.clip_models import prepare_image

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


def compute() -> tuple[list[float], list[float]]:
    captions, images = np.array(GOLDEN["captions"]), np.array(GOLDEN["images"])
    scores = compare_features(captions, images, [np.array(each) for each in GOLDEN["references"]])
    return scores[:, 0].tolist(), scores[:, 1].tolist()


def test_scores_from_features() -> None:
    score, with_references = compute()
    published = GOLDEN["scores"]
    assert score == pytest.approx(published["CLIPScore"], rel=1e-12)
    similar = [place for place, value in enumerate(published["similarity"]) if value > 0]
    assert len(similar) == 4
    assert [with_references[place] for place in similar] == pytest.approx(
        [published["RefCLIPScore"][place] for place in similar], rel=1e-12
    )


def test_negative_similarities_with_references() -> None:
    negative = [place for place, value in enumerate(GOLDEN["scores"]["similarity"]) if value < 0]
    assert [GOLDEN["scores"]["RefCLIPScore"][place] < 0 for place in negative] == [False, True, True, False]
    # The paper's formula, which the published code does not follow here.
    assert [compute()[1][place] for place in negative] == [0, 0, 0, 0]


@pytest.mark.parametrize("picture", GOLDEN["pictures"], ids=lambda each: f"{each['mode']} {each['width']}")
def test_pictures(picture: dict[str, Any]) -> None:
    from PIL import Image

    y, x = np.mgrid[: picture["height"], : picture["width"]]
    colors = [(x * 37 + y * 11) % 256, (x * 5 + y * 83) % 256, (x * x + 3 * y) % 256]
    image = Image.fromarray(np.stack(colors, -1).astype(np.uint8)).convert(picture["mode"])
    np.testing.assert_allclose(prepare_image(image, 4), picture["colors"], atol=1e-6)
