"""The migration that renames the CIDEr of 0.1.0 to CIDEr-2015, in every stored place."""

from __future__ import annotations

import json
import zlib
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from capeval_server.challenges.models import Phase, Reported, Split
from capeval_server.submissions.models import FinalBoard, ImageScores, Result, Score, Submission
from tests.server.boards import stand, version

migration = import_module("capeval_server.submissions.migrations.0002_cider_2015")
OLD = ["CIDEr-D", "CIDEr", "CIDEr-1", "CIDEr(stem=false)", "BLEU"]
NEW = ["CIDEr-D", "CIDEr-2015", "CIDEr-2015-1", "CIDEr-2015(stem=false)", "BLEU"]
PAIR = ["all", "a", "b", 0.5]

pytestmark = pytest.mark.django_db


def store(names: list[str]) -> Submission:
    """Store a challenge, scores and final results as a version with these names did."""
    Split.objects.update(metrics=names, sort_by=names[1])
    scores = {"CIDEr-D": 1.0, names[1]: 0.4}
    Reported.objects.create(reference_set=version().reference_set, name="paper", rows=[{"scores": scores}])
    submission = stand("Team A", 1.0)
    result = Result.objects.create(submission=submission, reference_version=version(), metric=names[3])
    Score.objects.create(result=result, name=names[1], value=0.4)
    ImageScores.objects.create(result=result, names=names[:2], values=b"")
    content = {
        "rows": [{"failed": [names[2]], "scores": [[names[1], "", 0.4, None, None]], "team": "CIDEr é"}],
        "p_values": [[names[1], *PAIR]],
    }
    board = zlib.compress(json.dumps(content, ensure_ascii=False).encode())
    FinalBoard.objects.create(phase=Phase.objects.get(), version=version(), content=board)
    return submission


def list_stored(submission: Submission) -> Any:
    split, reported, board = Split.objects.get(), Reported.objects.get(), FinalBoard.objects.get()
    return {
        "split": (split.metrics, split.sort_by),
        "reported": reported.rows,
        "results": sorted(submission.results.values_list("metric", flat=True)),
        "scores": sorted(Score.objects.filter(result__submission=submission).values_list("name", "value")),
        "images": ImageScores.objects.get().names,
        "final": json.loads(zlib.decompress(bytes(board.content))),
    }


def run(change: Any) -> None:
    # SQLite has no schema editor inside a transaction. The migration only reads the connection.
    change(apps, SimpleNamespace(connection=connection))


def test_each_stored_name_is_renamed(phase: Phase) -> None:
    submission = store(OLD)
    before = list_stored(submission)
    (forward,) = migration.Migration.operations
    run(forward.code)
    found = list_stored(submission)
    assert found["split"] == (NEW, "CIDEr-2015")
    assert found["reported"] == [{"scores": {"CIDEr-D": 1.0, "CIDEr-2015": 0.4}}]
    assert found["results"] == ["CIDEr-2015(stem=false)", "CIDEr-D"]
    assert found["scores"] == [("CIDEr-2015", 0.4), ("CIDEr-D", 1.0)]
    assert found["images"] == ["CIDEr-D", "CIDEr-2015"]
    row = {"failed": ["CIDEr-2015-1"], "scores": [["CIDEr-2015", "", 0.4, None, None]], "team": "CIDEr é"}
    assert found["final"] == {"rows": [row], "p_values": [["CIDEr-2015", *PAIR]]}
    run(forward.code)
    assert list_stored(submission) == found
    run(forward.reverse_code)
    assert list_stored(submission) == before
