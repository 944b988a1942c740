"""CIDEr-2015 and the published code of its authors."""

import gzip
import json

import pytest
from scipy.io import loadmat

from capeval.metrics.cider import Cider2015
from tests.shared_data import shared_data

# The mean CIDEr that the code of vrama91/cider prints for its sample, pascal50S.json and pascal_candsB.json,
# recorded by one of its users.
PRINTED = 0.5876485026978251


def test_the_sample_of_the_authors_code() -> None:
    folder = shared_data("pascal50s")
    images = loadmat(folder / "pascal50S.mat", squeeze_me=True)["train_sent_final"]
    # 50 images of a pilot have 120 sentences; the sample has the first 50.
    sentences = {
        str(row["name"]).rpartition("/")[2]: [str(s) for s in row["sentences"]][:50] for row in images
    }
    candidates = json.loads(gzip.decompress((folder / "pascal_candsB.json.gz").read_bytes()))
    assert (len(sentences), len(candidates)) == (1000, 4000)
    # The authors' code counts an image again for each of its four candidates.
    references = {str(place): sentences[row["image_id"]] for place, row in enumerate(candidates)}
    scores = (
        Cider2015(stem=False)
        .prepare(references)
        .score({str(place): row["caption"] for place, row in enumerate(candidates)})
    )
    # Their code multiplies by 10, and does not stem words.
    assert 10 * scores.corpus["CIDEr-2015"] == pytest.approx(PRINTED, rel=1e-13)
