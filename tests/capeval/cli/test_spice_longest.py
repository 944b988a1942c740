"""`--spice-longest`, and captions that are too long for SPICE, on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.capeval.cli.test_cli import output, refusal, run
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

LONG = " ".join(["a dog near a red cat and"] * 6)
LIMIT = ("--spice-longest", "30")
REFERENCES = {1: ["a red bike", "a bike"], 2: ["two dogs run", "dogs"], 3: ["a cat on a bed", "a black cat"]}
WARNING = "capeval: warning: image 2 is not scored by SPICE or SPIDEr, since a caption has a sentence of more"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    references = [
        {"image_id": image, "caption": text} for image, texts in REFERENCES.items() for text in texts
    ]
    (tmp_path / "references.json").write_text(json.dumps(references))
    for name, texts in (("a", ("a bike", LONG, "a cat")), ("b", ("a red bike", "dogs", "a bed"))):
        results = [{"image_id": image, "caption": text} for image, text in enumerate(texts, start=1)]
        (tmp_path / f"{name}.json").write_text(json.dumps(results))
    (tmp_path / "domains.json").write_text(json.dumps({"in-domain": [1, 2], "out-domain": [3]}))
    return tmp_path


def test_score_warns_once_and_scores_the_other_images(files: Path) -> None:
    command = ("score", files / "references.json", files / "a.json", "-m", "CIDEr-D,SPICE,SPICE-Color,SPIDEr")
    done = run(*command, *LIMIT)
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(WARNING)
    assert line.endswith(
        "raise the limit with --spice-longest N (Python: Spice(longest=N)), at most 800, or parse each"
        " sentence separately with SPICE(text=sentences)"
    )
    assert "image 2 is not scored by SPICE or SPIDEr" in done.stdout.decode()
    written = json.loads(run(*command, *LIMIT, "-f", "json").stdout)
    assert written["metrics"]["SPICE"] > 0
    assert written["unscored"]["SPIDEr"]["images"] == [2]
    # The default limit is higher.
    higher = json.loads(output(*command, "-f", "json"))
    assert "unscored" not in higher
    assert higher["metrics"]["SPICE"] != written["metrics"]["SPICE"]
    assert higher["metrics"]["CIDEr-D"] == written["metrics"]["CIDEr-D"]


def test_the_report_is_written(files: Path) -> None:
    page = files / "report.html"
    command = ("score", files / "references.json", files / "a.json", "-m", "SPICE,CIDEr-D", *LIMIT)
    done = run(*command, "--report", page)
    assert done.returncode == 0
    assert "image 2 is not scored by SPICE or SPIDEr" in page.read_text()


def test_compare_leaves_an_image_out_for_both(files: Path) -> None:
    command = ("compare", files / "references.json", files / "a.json", files / "b.json", "-m", "SPICE")
    text = run(*command, *LIMIT).stdout.decode()
    assert text.count("Excluded for both systems: image 2 is not scored by SPICE or SPIDEr") == 1
    assert "Excluded" not in output(*command)


def test_studies_have_the_option(files: Path) -> None:
    command = ("study", "domains", files / "references.json", files / "a.json", "-m", "SPICE")
    domains = ("--domains", files / "domains.json")
    assert "image 2 is not scored" in run(*command, *domains, *LIMIT).stdout.decode()
    assert "is not scored" not in output(*command, *domains)
    assert "SPICE" in output(
        "study", "human", files / "references.json", "-m", "SPICE", "--spice-longest", "9"
    )


def test_the_option_is_for_metrics_that_parse(files: Path) -> None:
    command = ("score", files / "references.json", files / "a.json", "--spice-longest")
    assert "--spice-longest requires SPICE or SPIDEr (got BLEU-1, " in refusal(
        *command, "150", "-m", "BLEU,CIDEr-D"
    )
    assert run(*command, "801", "-m", "SPICE").returncode == 2


def test_folders_of_shards_agree_with_the_whole(files: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = {each["image_id"]: each["caption"] for each in json.loads((files / "a.json").read_text())}
    more = {**texts, 4: LONG}
    rows = {
        "image_id": list(more),
        "references": [REFERENCES.get(image, ["a dog"]) for image in more],
        "caption": list(more.values()),
    }
    whole = pa.table(rows)
    (files / "shards").mkdir()
    for number in range(4):
        parquet.write_table(whole.slice(number, 1), files / "shards" / f"part-{number}.parquet")
    parquet.write_table(whole, files / "whole.parquet")
    columns = (
        "--reference-caption-column",
        "references",
        "--caption-column",
        "caption",
        "-m",
        "SPICE,SPIDEr",
    )
    shards = ("score", files / "shards", files / "shards", *columns, "--processes", "2")
    done = run(*shards, *LIMIT, "-f", "json")
    theirs = json.loads(run("score", *[files / "whole.parquet"] * 2, *columns, *LIMIT, "-f", "json").stdout)
    ours = json.loads(done.stdout)
    assert ours["metrics"] == pytest.approx(theirs["metrics"], rel=1e-12)
    assert ours["unscored"] == theirs["unscored"]
    assert ours["unscored"]["SPICE"]["images"] == [2, 4]
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("capeval: warning: 2 images (2, 4) are not scored by SPICE")
    assert "2 images (2, 4) are not scored by SPICE" in run(*shards, *LIMIT).stdout.decode()
    assert "is not scored" not in output(*shards, env=dict(os.environ))
