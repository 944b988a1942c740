"""Tests that this version opens backups of earlier versions."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.backups import restore
from tests.server.processes import Server

# Created once by `scripts/server_fixture`; they stay as they are.
BACKUPS = Path(__file__).parent / "fixtures" / "0.1.0"
PHASES = "/challenges/small/phases"
BOARD = "leaderboard?split=val&references=c2"
# The leaderboards and the counted answers of campaigns, as the version that made the backups showed them.
SCORES = {
    "open": {"Team A": 4.197714933828106, "bob": 2.0634788851145407, "human": 1.834026971188173},
    "first": {"bob": 3.5935926214615583, "human": 1.834026971188173},
}
COUNTED = {
    "chosen": 6,
    "finished": 6,
    "finished-pairs": 6,
    "judged": 6,
    "m1-campaign": 6,
    "m2-campaign": 7,
    "m3-campaign": 6,
    "m4-campaign": 6,
    "m5-campaign": 6,
    "pairwise-campaign": 3,
    "rating-campaign": 6,
    "reviewed": 5,
    "triplet-campaign": 6,
    "write-campaign": 6,
}
PASSWORD = "brown-cows-2026"


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory, database: str | None) -> Iterator[Server]:
    """A server with the database and the files of a backup, which `migrate` upgraded."""
    folder = tmp_path_factory.mktemp("restored")
    name = "sqlite" if database is None else "postgresql"
    with tarfile.open(BACKUPS / f"{name}.tar.xz") as archive:
        archive.extractall(folder / "backup", filter="data")
    made = Server(folder, database)
    restore(folder / "backup", made)
    made.run("migrate")
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def organizer(restored: Server) -> str:
    """A new token of the organizer: the one in the backup expires."""
    return restored.run("token", "olga", "later", "--scope", "organize").strip()


def test_the_database_is_of_this_version(restored: Server) -> None:
    # A second `migrate` succeeds.
    restored.run("check", "--before-start")
    restored.run("migrate")


def test_token_scopes_are_renamed(restored: Server) -> None:
    program = "from capeval_server.accounts.models import Token\n"
    program += "print(sorted(Token.objects.exclude(name='later').values_list('scope', flat=True).distinct()))"
    scopes = restored.python(program)
    assert "organize" in scopes
    assert "organise" not in scopes


@pytest.mark.parametrize("phase", SCORES)
def test_leaderboards(restored: Server, organizer: str, phase: str) -> None:
    rows = restored.see(organizer, f"{PHASES}/{phase}/{BOARD}")["rows"]
    assert {row["team"]: row["scores"]["CIDEr-D"] for row in rows} == SCORES[phase]
    page = restored.client.get(f"{restored.root}/small/{phase}/?split=val&references=c2")
    assert page.status_code == 200
    assert all(f"{score:.3f}" in page.text for score in SCORES[phase].values())


@pytest.mark.parametrize("campaign", COUNTED)
def test_answers_count(restored: Server, organizer: str, campaign: str) -> None:
    assert restored.see(organizer, f"/campaigns/{campaign}")["counted"] == COUNTED[campaign]


def test_campaigns_are_sound(restored: Server) -> None:
    restored.run("annotate", "audit")
    restored.run("annotate", "replay", "chosen")


@pytest.mark.parametrize("campaign", ["finished", "finished-pairs"])
def test_releases_are_as_they_were_frozen(restored: Server, campaign: str) -> None:
    restored.run("annotate", "verify", campaign, "1.0")


def test_the_database_protects_answers(restored: Server) -> None:
    program = "from capeval_server.annotation.core import triggers\n"
    program += "print(triggers.present() == triggers.expected())"
    assert restored.python(program).strip() == "True"


def test_exports(restored: Server, organizer: str) -> None:
    found = get(restored, organizer, f"{PHASES}/open/{BOARD}&format=csv").text
    scores = {row["team"]: float(row["CIDEr-D"]) for row in csv.DictReader(io.StringIO(found))}
    # With the scores that were reported elsewhere.
    assert scores == {**SCORES["open"], "A": 1.5}
    payments = get(restored, organizer, "/campaigns/reviewed/payments").text
    assert [row["amount"] for row in csv.DictReader(io.StringIO(payments))] == ["0.36", "0.36"]


def test_new_submissions_are_scored(restored: Server) -> None:
    user = ("user", "later", "--email", "later@example.org", "--password-stdin")
    restored.run(*user, given=f"{PASSWORD}\n")
    token = restored.run("token", "later", "program", "--scope", "submit").strip()
    headers = {"Authorization": f"Bearer {token}"}
    team = f"{restored.address}/challenges/small/team"
    choice = {"name": "team-later", "accept_rules": True}
    assert restored.client.post(team, json=choice, headers=headers).status_code == 201
    submitted = restored.submit(token)
    restored.run("worker", "--until-empty")
    assert restored.see(token, f"/submissions/{submitted.json()['id']}")["state"] == "scored"


def get(server: Server, token: str, path: str) -> Any:
    answer = server.client.get(f"{server.address}{path}", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return answer
