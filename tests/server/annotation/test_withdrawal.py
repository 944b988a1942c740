"""Consent to versions of texts, and withdrawal: removed data, and anonymity of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core import serializers
from django.test import Client
from pyarrow import parquet

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.consent import change_texts
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    Participation,
    Response,
    Slot,
    TextVersion,
    Worker,
)
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.workers import enrollment
from capeval_server.audit.models import Action
from capeval_server.core.errors import AssignmentError, CampaignError
from tests.server.annotation.test_api import Program, user_program
from tests.server.campaigns import answer, counted, hold, join, make
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
OWN = "Ownmarker"


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, settings: Any) -> Path:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}
    return tmp_path / "files"


def all_rows() -> str:
    """All that the database has of campaigns and of the history."""
    models: list[Any] = [*apps.get_app_config("annotation").get_models(), Action]
    return "".join(serializers.serialize("json", model._default_manager.all()) for model in models)


def release_text(release: Any) -> str:
    folder = release_files.folder_of(release)
    return "".join(map(file_text, filter(Path.is_file, folder.parent.rglob("*"))))


def file_text(path: Path) -> str:
    return str(parquet.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text()


def member(campaign: Campaign, name: str) -> Participation:
    user, _ = User.objects.get_or_create(username=name)
    return enrollment.agree(
        enrollment.enter_as_user(user, campaign), enrollment.latest_texts(campaign).number
    )


def test_a_withdrawal_before_the_freeze_leaves_no_text_anywhere() -> None:
    campaign = make("write", answers=1, items=5, batch=5, review_first=10, reopened_for="everybody")
    worker, other = member(campaign, "wanda"), join(campaign)[0]
    held = assignment.assign_work(worker).assignments
    answer(held[0], f"{OWN} first")
    answer(held[0], f"{OWN} revised", revision=2)
    assignment.save_draft(held[1], {"caption": f"{OWN} draft"})
    assignment.set_aside(held[2], "skipped", f"{OWN} reason")
    assignment.report_item(held[3], "other", f"{OWN} note")
    assert withdrawal.effect_of_withdrawing(worker) == withdrawal.WithdrawalEffect(removed=2, frozen=0)
    assert all_rows().count(OWN) == 5
    assert withdrawal.withdraw(None, worker, by_worker=True) == withdrawal.WithdrawalEffect(
        removed=2, frozen=0
    )
    rows = all_rows()
    assert OWN not in rows
    assert "wanda" not in rows
    assert counted(campaign) == 0
    assert not Assignment.objects.filter(state="held").exists()
    assert set(Response.objects.values_list("redacted", flat=True)) == {"withdrew"}
    assert all(len(digest) == 64 for digest in Response.objects.values_list("digest", flat=True))
    while found := assignment.assign_work(other).assignments:
        for one in found:
            answer(one, "a cart in a street")
    release = release_files.freeze(None, campaign, "1.0")
    assert OWN not in release_text(release)
    assert "a cart in a street" in release_text(release)
    assert list(audit(campaign)) == []
    assert {response.participation_id for response in moderation.list_review_queue(campaign)} == {other.pk}


def test_a_withdrawal_after_the_freeze_leaves_no_identity() -> None:
    campaign = make("write", answers=1, items=2, batch=1, reopened_for="everybody")
    elsewhere = make("write", answers=1, items=1)
    worker = member(campaign, "wanda")
    there = member(elsewhere, "wanda")
    answer(hold(worker), f"{OWN} frozen")
    release = release_files.freeze(None, campaign, "1.0", leave_out=True)
    before = release_text(release)
    answer(hold(worker), f"{OWN} later")
    pseudonym = worker.worker.pseudonym
    assert pseudonym in before
    assert withdrawal.withdraw(None, worker) == withdrawal.WithdrawalEffect(removed=1, frozen=1)
    assert release_text(release) == before
    assert release_files.verify(release) > 2
    assert release_files.count_outdated_answers(release) == 1
    assert list(audit(campaign)) == []
    left = Worker.objects.get(pseudonym=pseudonym)
    assert (left.user, left.digest) == (None, None)
    assert list(left.participations.all()) == [worker]
    # The account continues in the other campaign, under a pseudonym that is in no frozen file of this one.
    there.refresh_from_db()
    heir = Worker.objects.get(pk=there.worker_id)
    assert (heir.user and heir.user.username, heir.pseudonym == pseudonym) == ("wanda", False)
    assert answer(hold(there)).outcome == "stored"
    (second,) = join(campaign)
    while found := assignment.assign_work(second).assignments:
        answer(found[0], "another sentence of the street")
    assert OWN not in release_text(release_files.freeze(None, campaign, "1.1"))


def test_nothing_of_who_left_is_stored_later() -> None:
    campaign = make("write", answers=2, items=3, batch=3)
    (token,) = enrollment.invite(None, campaign, 1)
    worker = enrollment.agree(enrollment.get_invited(campaign, token), 1)
    held = assignment.assign_work(worker).assignments
    withdrawal.withdraw(None, worker, by_worker=True)
    late: list[Any] = [
        lambda: answer(held[0], OWN),
        lambda: assignment.save_draft(held[0], {"caption": OWN}),
        lambda: assignment.set_aside(held[0], "skipped", OWN),
        lambda: assignment.report_item(held[0], "other", OWN),
        lambda: withdrawal.withdraw(None, worker),
        lambda: enrollment.get_invited(campaign, token),
    ]
    for what in late:
        with pytest.raises(AssignmentError, match="you have withdrawn from this campaign"):
            what()
    assert OWN not in all_rows()
    assert assignment.assign_work(worker).why == "You have withdrawn from this campaign."
    with pytest.raises(CampaignError, match="has withdrawn from the campaign"):
        moderation.block(None, worker, "spam")
    with pytest.raises(CampaignError, match="can't come back"):
        moderation.unblock(None, worker.exclusions.get(), "a mistake")


def test_who_left_does_not_begin_again_under_another_name() -> None:
    campaign, other = make(answers=1), make(answers=1)
    withdrawal.withdraw(None, member(campaign, "wanda"))
    with pytest.raises(AssignmentError, match="you have withdrawn"):
        member(campaign, "wanda")
    assert assignment.assign_work(member(other, "wanda")).assignments
    assert assignment.assign_work(member(campaign, "willi")).assignments


def test_a_blocked_worker_can_withdraw() -> None:
    campaign = make("write", answers=1, items=1)
    (worker,) = join(campaign)
    answer(hold(worker), OWN)
    exclusion, _ = moderation.block(None, worker, "spam")
    assert withdrawal.withdraw(None, worker).removed == 1
    assert OWN not in all_rows()
    assert worker.exclusions.get() == exclusion
    assert Slot.objects.filter(filled_by=None).count() == 1


def test_other_texts_are_agreed_to_before_more_work() -> None:
    campaign = make("write", answers=1, items=4, batch=2)
    (worker,) = join(campaign)
    held = assignment.assign_work(worker).assignments
    same = change_texts(None, campaign, instructions="# Work")
    assert same.number == 1
    made = change_texts(None, campaign, consent="All is published.")
    assert (made.number, made.instructions, made.consent) == (2, "# Work", "All is published.")
    assert "agree to them" in assignment.assign_work(worker).why
    # What is held may end.
    assert answer(held[0]).outcome == "stored"
    with pytest.raises(AssignmentError, match="instructions have changed"):
        enrollment.agree(worker, 1)
    now = enrollment.agree(worker, 2)
    assert (now.consented_to, now.consented is not None) == (made, True)
    assert assignment.assign_work(worker).assignments == held[1:]
    TextVersion.objects.create(
        campaign=campaign,
        number=3,
        instructions="# Work",
        consent="All is published.",
        rules={"short": "hint"},
    )
    assert assignment.assign_work(worker).assignments == held[1:]
    for text in ("", " ", "x" * 100_001, "\0", "\ud800"):
        with pytest.raises(CampaignError, match="'consent' must be a text"):
            change_texts(None, campaign, consent=text)
    assert Action.objects.filter(what__startswith="created version 2 of the texts").exists()


def test_the_pages_of_agreeing_again_and_leaving() -> None:
    campaign = make("write", answers=1, items=2)
    (token,) = enrollment.invite(None, campaign, 1)
    client = Client()
    place = f"/annotate/{campaign.slug}"

    def page(address: str, status: int = 200) -> str:
        got = client.get(address)
        assert got.status_code == status
        check_page(got.content.decode(), got.headers["Content-Security-Policy"])
        return got.content.decode()

    client.get(f"{place}/enter/{token}/")
    client.post(f"{place}/agree/", {"texts": "1"})
    assert 'href="/annotate/' + campaign.slug + '/leave/"' in page(f"{place}/")
    change_texts(None, campaign, consent="All is published.")
    assert "have changed since you agreed" in page(f"{place}/")
    client.post(f"{place}/agree/", {"texts": "2"})
    page(f"{place}/")
    held = Assignment.objects.filter(state="held")[0]
    client.post(f"{place}/{held.lease}/answer/", {"caption": f"{OWN} in a street"})
    shown = page(f"{place}/leave/")
    assert "you agreed to version 2" in shown
    assert "All is published." in shown
    assert "Your 1 answer will be permanently deleted" in shown
    unsure = client.post(f"{place}/leave/", follow=True)
    assert "Please confirm that you want to withdraw" in unsure.content.decode()
    assert OWN in all_rows()
    done = client.post(f"{place}/leave/", {"sure": "yes"})
    assert "Your 1 answer was deleted" in done.content.decode()
    assert OWN not in all_rows()
    for address in (f"{place}/", f"{place}/leave/", f"{place}/enter/{token}/"):
        assert "you have withdrawn from this campaign" in page(address, 409)


def test_by_api_by_the_worker_and_by_an_organizer() -> None:
    campaign = make("write", answers=2, items=1)
    staff = user_program("staff", is_staff=True)
    tokens = enrollment.invite(None, campaign, 2)
    programs = [Program(token) for token in tokens]
    for program in programs:
        program.ask("POST", f"annotate/{campaign.slug}/agree", {"texts": 1})
        (item,) = program.ask("POST", f"annotate/{campaign.slug}/next", {})["items"]
        sent = {"answer": {"caption": f"{OWN} in a street"}, "key": "k"}
        program.ask("POST", f"annotate/{campaign.slug}/items/{item['lease']}/answer", sent)
    place = f"annotate/{campaign.slug}/withdraw"
    assert programs[0].ask("GET", place) == {"removed": 1, "frozen": 0}
    assert programs[0].ask("POST", place) == {"removed": 1, "frozen": 0, "end": None}
    # The token is gone with the rest.
    programs[0].ask("POST", place, status=401)
    worker = enrollment.get_invited(campaign, tokens[1]).worker.pseudonym
    organized = f"campaigns/{campaign.slug}/workers/{worker}/withdraw"
    assert staff.ask("GET", organized) == {"removed": 1, "frozen": 0}
    user_program("somebody").ask("POST", organized, status=404)
    assert staff.ask("POST", organized) == {"removed": 1, "frozen": 0}
    staff.ask("POST", organized, status=409)
    assert OWN not in all_rows()
    whos = Action.objects.filter(what__startswith="withdrew").order_by("pk").values_list("who", flat=True)
    assert [who.split()[0] for who in whos] == ["worker", "staff"]
    texts = f"campaigns/{campaign.slug}/texts"
    assert staff.ask("PUT", texts, {"consent": "All is published."})["number"] == 2
    assert staff.ask("GET", texts)["consent"] == "All is published."
    staff.ask("PUT", texts, {"consent": " "}, status=422)
    user_program("somebody").ask("GET", texts, status=404)


def test_a_campaign_without_a_consent_of_its_own_has_the_one_that_ships() -> None:
    staff = user_program("staff", is_staff=True)
    items = json.dumps({"key": "0", "reference": "a dog", "first": "a hound", "second": "a cat"})
    file = '[campaign]\nslug = "c"\ntitle = "C"\nkind = "triplet"\nitems = "items.jsonl"\n'
    staff.ask("POST", "campaigns", {"files": {"campaign.toml": file, "items.jsonl": items}}, 201)
    assert (
        "You can withdraw"
        in lifecycle.get_managed_campaign(User.objects.get(username="staff"), "c").texts.get().consent
    )
