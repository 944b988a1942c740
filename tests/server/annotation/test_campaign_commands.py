"""Commands for campaigns: lists, settings, workers, reviews, forecasts and releases."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from django.contrib.auth.models import User

from capeval.cli.app import app
from capeval.errors import CapevalError
from capeval_server.annotation.models import Participation, Response
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge
from tests.server.annotation.test_releases import filled
from tests.server.campaigns import answer, counted, hold, join, make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def releases(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES = tmp_path / "releases"


def run(*arguments: object) -> list[str]:
    """Run a command, and return the lines that it prints."""
    done = CliRunner().invoke(app, ["server", "annotate", *map(str, arguments)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout.splitlines()


def refused(*arguments: object) -> str:
    """Run a command that fails, and return the message."""
    done = CliRunner().invoke(app, ["server", "annotate", *map(str, arguments)])
    assert isinstance(done.exception, CapevalError), (done.output, done.exception)
    return str(done.exception)


def test_lists(django_user_model: type[User]) -> None:
    assert run("list") == []
    campaign = make("write", items=2, batch=2, review_first=1)
    slug = campaign.slug
    assert run("list") == [f"{slug}: open; write; answers: 0 of 10"]
    assert run("list", slug) == ["0: answers: 0 of 5; class: HC", "1: answers: 0 of 5; class: HC"]
    (worker,) = join(campaign)
    answer(hold(worker), "a cart")
    pseudonym = worker.worker.pseudonym
    assert run("list", slug, "workers") == [f"{pseudonym}: working; answers: 1; judged: 0; accepted: 0"]
    (stored,) = Response.objects.all()
    (listed,) = run("list", slug, "reviews")
    key = stored.item.key
    assert listed.startswith(f'{stored.pk}: item: {key}; answer: {{"caption": "a cart"}}; reasons: ')
    run("hold", slug, key, "--reason", "a face")
    assert run("list", slug, "items", "--which", "reported") == [
        f"{key}: answers: 1 of 5; class: HC; on hold: a face"
    ]
    assert run("list", slug, "images") == run("list", slug, "releases") == []
    assert "requires a campaign and its items" in refused("list", slug, "workers", "--which", "checks")
    assert "must be the name of a campaign" in refused("list", "none")
    django_user_model.objects.create(username="olga")
    done = run("review", slug, stored.pk, "rejected", "olga", "--reason", "wrong image")
    assert done == [f"{slug}: answer {stored.pk} rejected; to review: 0"]
    assert counted(campaign) == 0
    assert "must be the number of an answer" in refused("review", slug, 10**6, "fine", "olga")
    assert "'reason' is required" in refused("review", slug, stored.pk, "rejected", "olga")


def test_settings() -> None:
    campaign = make(answers=2)
    assert "answers: 2" in run("settings", campaign.slug)
    assert run("answers", campaign.slug, 3) == [f"{campaign.slug}: 3 answers per item"]
    assert "answers: 3" in run("settings", campaign.slug)
    assert "must be from 1 to 200 (got 0)" in refused("answers", campaign.slug, 0)
    amount = "pay_per_answer: must be a decimal number, such as 0.12, or empty (got 'abc')"
    currency = "currency: must be three capital letters, such as EUR, or empty (got 'euro')"
    assert refused("rate", campaign.slug, "abc", "euro") == f"{amount}; {currency}"
    assert refused("rate", campaign.slug, "0.12", "") == "pay_per_answer and currency must be given together"
    assert refused("panel", campaign.slug) == "the campaign has no panel"
    assert refused("warn", campaign.slug, "x.jpg", "blood") == "the campaign has no image 'x.jpg'"


def test_workers() -> None:
    campaign = make(answers=2)
    (worker,) = join(campaign)
    answer(hold(worker))
    slug, pseudonym = campaign.slug, worker.worker.pseudonym
    (listed,) = run("list", slug, "workers")
    statistics = "working; answers: 1; judged: 0; accepted: 0; left side: 1 of 1"
    assert listed == f"{pseudonym}: {statistics}"
    about = "answers excluded: 1; items reopened: 1; releases: none"
    assert run("block", slug, pseudonym, "--effect") == [f"{pseudonym}: would be blocked; {about}"]
    assert counted(campaign) == 1
    assert run("block", slug, pseudonym, "--reason", "spam") == [f"{pseudonym}: blocked; {about}"]
    assert counted(campaign) == 0
    assert "either '--reason' or '--effect'" in refused("block", slug, pseudonym)
    assert run("lift", slug, pseudonym, "--reason", "a mistake") == [
        f"{pseudonym}: block lifted; answers restored: 1"
    ]
    assert counted(campaign) == 1
    assert refused("lift", slug, pseudonym, "--reason", "again") == "this worker is not blocked"
    (token,) = enrollment.invite(None, campaign, 1)
    invited = enrollment.get_invited(campaign, token).worker
    assert run("revoke", slug, invited.pseudonym) == [f"{invited.pseudonym}: link revoked"]
    invited.refresh_from_db()
    assert not invited.digest
    assert Participation.objects.count() == 2


def test_the_forecast() -> None:
    campaign = make(answers=3, items=2)
    lines = run("plan", campaign.slug, "--seconds", 36, "--hourly", 10, "--workers", 1, "--hours", 1)
    assert lines[:4] == [
        "time per answer: 36 s; pay per hour: 10.00",
        "all answers: 6; 0.1 days; cost 0.60",
        "answers to go: 6; 0.1 days; cost 0.60",
        "answers so far: 0; cost 0.00",
    ]
    assert lines[4] == "agreement (assumed): yes 0.500, concentration 1.000"
    assert "seconds" in refused("plan", campaign.slug, "--seconds", 0)
    assert len(run("plan", make("write").slug)) == 4


def test_releases(tmp_path: Path) -> None:
    campaign = filled(items=2, answers=2)
    slug = campaign.slug
    run("freeze", slug, "1.0")
    path = tmp_path / "release.zip"
    assert run("download", slug, "1.0", "--output", path) == [str(path)]
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        times = {each.date_time for each in archive.infolist()}
    # Zips store even seconds.
    *frozen, second = campaign.releases.get().time.timetuple()[:6]
    assert times == {(*frozen, second // 2 * 2)}
    assert {"provenance.csv", "1.0/manifest.json", "1.0/judgments.csv"} <= set(names)
    (found,) = campaign.releases.all()
    assert run("verify", slug, "1.0") == [
        f"{slug} 1.0: {release_files.verify(found)} files unchanged; answers that no longer count: 0"
    ]
    (line,) = run("list", slug, "releases")
    assert line.startswith("1.0: frozen ")
    assert line.endswith(" UTC by the command line; answers: 4; no longer counted: 0")
    assert "must be the name of a release" in refused("download", slug, "2.0")
    run("challenge", slug, "1.0", tmp_path / "hosted")
    (tmp_path / "hosted" / "about.md").write_text("edited")
    assert "already exists; choose a new folder" in refused("challenge", slug, "1.0", tmp_path / "hosted")
    assert (tmp_path / "hosted" / "about.md").read_text() == "edited"


def test_judgments_are_no_references(tmp_path: Path, challenge: Challenge) -> None:
    campaign = make(items=1, answers=1)
    answer(hold(join(campaign)[0]))
    run("freeze", campaign.slug, "1.0")
    User.objects.create(username="olga")
    for command in (
        ("challenge", campaign.slug, "1.0", tmp_path / "hosted"),
        ("publish", campaign.slug, "1.0", "olga", "small/val/c2"),
    ):
        assert refused(*command) == "references require a release of captions"
    assert not (tmp_path / "hosted").exists()


def test_results_and_answers_of_captions(tmp_path: Path) -> None:
    campaign = make("write", items=2, answers=1, batch=2)
    (worker,) = join(campaign)
    answer(hold(worker), "a cart")
    answer(hold(worker), "a dog")
    slug = campaign.slug
    head, *rows = run("results", slug)
    assert head == "table,question,category,name,other,value,low,high,units,answers"
    assert "captions,,all,captions,,2.0,,,2,2" in rows
    assert "'--release' requires a folder" in refused("results", slug, "--release", "1.0")
    assert "the task type must be one of" in refused("results", slug, tmp_path)
    assert len(run("judgments", slug)) == 3
    (_, found) = run("judgments", slug, "--search", "a dog", "--state", "counted")
    assert ",a dog," in found
    path = tmp_path / "answers.parquet"
    assert run("judgments", slug, "--output", path) == []
    assert path.read_bytes()[:4] == b"PAR1"


def test_columns_of_known_captions(tmp_path: Path) -> None:
    slug = make("write").slug
    path = tmp_path / "known.csv"
    path.write_text("image,words\n0,A cart.\n")
    assert "--reference-caption-column" in refused("known", slug, path)
    named = ("--reference-id-column", "image", "--reference-caption-column", "words")
    assert run("known", slug, path, *named) == [f"{slug}: 1 captions added"]
