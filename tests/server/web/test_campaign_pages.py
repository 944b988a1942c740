"""Pages of campaign managers: permissions, effects of each action, and confidentiality."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from capeval.studies.effort import Agreement, EffortOptions, Prices, forecast
from capeval.studies.shared.agreement import krippendorff_alpha
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    CheckResult,
    Item,
    Participation,
    Response,
    ReviewRequest,
)
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.responses.text_flags import UNLIKE
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.annotation.task_types.base import template_text
from capeval_server.annotation.text_rules.rules import RULES
from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge, ReferenceSet
from capeval_server.commands import annotation_reviews as commands
from capeval_server.web.campaigns import urlpatterns
from tests.server.annotation.test_pages import picture
from tests.server.campaigns import LENIENT, STUDY, answer, counted, given, hold, join, make
from tests.server.kit import MARKUP, Participant, Someone, zipped
from tests.server.pages import check_page
from tests.server.web.test_organizer_pages import hidden_fields

pytestmark = pytest.mark.django_db

ROOT = "/campaigns/words/"
# What is seen on each picture: nobody writes the same of two.
WHERE = {"0": "on a horse at the beach", "1": "takes some elephant past tall trees"}
# Every address of managers, by its name: and what is posted, for those that are only posted to.
ADDRESSES: dict[str, tuple[str, dict[str, str] | None]] = {
    "campaigns": ("/campaigns/", None),
    "campaign_new": ("/new/campaign/", None),
    "campaign_new_from": ("/new/campaign/from/write-coco/", None),
    "campaign_preview": ("/new/campaign/preview/", {"instructions": "# A"}),
    "campaign_columns": ("/new/campaign/columns/", {"draft": "0" * 64}),
    "campaign_preview_image": ("/new/campaign/image/", None),
    "campaign_apply_new": ("/new/campaign/apply/", {"sha256": "0" * 64, "seen": "0"}),
    "campaign": (ROOT, None),
    "campaign_state": (f"{ROOT}state/", {"state": "paused"}),
    "campaign_answers": (f"{ROOT}answers/", {"answers": "4"}),
    "campaign_quality": (f"{ROOT}quality/", None),
    "campaign_plot": (f"{ROOT}plot.svg", None),
    "campaign_delete": (f"{ROOT}delete/", None),
    "campaign_copy": (f"{ROOT}copy/", {"items": "on"}),
    "campaign_edit": (f"{ROOT}edit/", {}),
    "campaign_items": (f"{ROOT}items/", None),
    "campaign_add_items": (f"{ROOT}items/add/", None),
    "campaign_apply_items": (f"{ROOT}items/add/apply/", {"sha256": "0" * 64, "seen": "0"}),
    "campaign_hold": (f"{ROOT}items/ITEM/hold/", {"held": "on"}),
    "campaign_agreement": (f"{ROOT}agreement/", None),
    "campaign_review_unlike": (f"{ROOT}agreement/review/", {}),
    "campaign_plan": (f"{ROOT}plan/", None),
    "campaign_recruiting": (f"{ROOT}recruiting/", None),
    "campaign_reconciliation": (f"{ROOT}recruiting/reconciliation/", None),
    "campaign_workers": (f"{ROOT}workers/", None),
    "campaign_invite": (f"{ROOT}workers/invite/", {"number": "1"}),
    "campaign_worker": (f"{ROOT}workers/WORKER/", None),
    "campaign_block": (f"{ROOT}workers/WORKER/block/", {"reason": "copies"}),
    "campaign_lift": (f"{ROOT}workers/WORKER/lift/", {"reason": "a mistake"}),
    "campaign_request_reviews": (f"{ROOT}workers/WORKER/reviews/", {}),
    "campaign_resume": (f"{ROOT}workers/WORKER/resume/", {"reason": "a slip"}),
    "campaign_revoke": (f"{ROOT}workers/WORKER/revoke/", {"confirm": "on"}),
    "campaign_reviews": (f"{ROOT}reviews/", None),
    "campaign_review": (f"{ROOT}reviews/RESPONSE/", {"rRESPONSE-verdict": "fine"}),
    "campaign_accept": (f"{ROOT}reviews/accept/", {"answer": "RESPONSE"}),
    "campaign_undo": (f"{ROOT}reviews/undo/", {"answer": "RESPONSE"}),
    "campaign_answers_export": (f"{ROOT}reviews/answers.csv", None),
    "campaign_image": (f"{ROOT}images/IMAGE/small/", None),
    "campaign_releases": (f"{ROOT}releases/", None),
    "campaign_verify": (f"{ROOT}releases/1.0/verify/", {}),
    "campaign_download": (f"{ROOT}releases/1.0/files.zip", None),
    "campaign_use_in_new": (f"{ROOT}releases/1.0/challenge/", {}),
    "campaign_use_as_references": (f"{ROOT}releases/1.0/references/", None),
    "campaign_results": (f"{ROOT}results/", None),
    "campaign_results_plot": (f"{ROOT}results/plot.svg", None),
    "campaign_results_table": (f"{ROOT}results.csv", None),
    "campaign_result_files": (f"{ROOT}results.zip", None),
    "campaign_payments": (f"{ROOT}payments.csv", None),
    "campaign_bonuses": (f"{ROOT}bonuses.csv", None),
}


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


@pytest.fixture
def campaign(olga: Someone, challenge: Challenge) -> Campaign:
    """One of the small challenge with pictures, three captions of each, one to review, and a release."""
    staff = Someone("maker", is_staff=True)
    made = created(staff, new_form("words", pictures=2, challenge=challenge.slug, answers=3, review_first=0))
    change_state(None, made, "open")
    for number, worker in enumerate(join(made, 3)):
        while held := assignment.assign_work(worker).assignments:
            for one in held:
                answer(one, f"rider {number} {WHERE[one.item.key]}", seconds=10 + number)
    release_files.freeze(None, made, "1.0")
    first = Response.objects.order_by("pk")[0]
    ReviewRequest.objects.create(response=first, reason="drawn at random", time=first.received)
    return made


def new_form(slug: str, *, pictures: int = 0, text: str = "write-coco", **given: Any) -> dict[str, Any]:
    """Return the form data of a new caption campaign."""
    lines = [json.dumps({"key": str(number), "image": f"{number}.jpg"}) for number in range(pictures)]
    files = {f"pictures/{number}.jpg": picture(640 + number) for number in range(pictures)}
    return {
        "title": "Words",
        "slug": slug,
        "challenge": "",
        "instructions": template_text(text),
        "consent": "Your sentences are *published*.",
        "items": SimpleUploadedFile("items.jsonl", "\n".join(lines).encode()),
        "pictures": SimpleUploadedFile("pictures.zip", zipped(files)),
        **options(),
        **given,
    }


def options(**given: Any) -> dict[str, Any]:
    """Return the options of a campaign of captions in its form, with few reviews and no checks."""
    chosen = {"answers": 2, "check_every": 0, "repeat_every": 0, "review_every": 0, **STUDY}
    filled = CampaignOptions.of_kind("write", **chosen).model_dump()
    shown = CampaignOptions.described(task_named("write"))
    levels = {f"rule-{name}": LENIENT.get(name, rule.level) for name, rule in RULES.items()}
    return {**{name: filled[name] for name in shown}, **levels, **given}


def created(who: Someone, form: dict[str, Any], text: str = "write-coco") -> Campaign:
    """Create a campaign with the form and its confirmation."""
    shown = who.do(f"/new/campaign/from/{text}/", 200, **form).content.decode()
    assert not Campaign.objects.filter(slug=form["slug"]).exists()
    who.do("/new/campaign/apply/", **hidden_fields(shown))
    return Campaign.objects.get(slug=form["slug"])


def addresses(campaign: Campaign) -> dict[str, tuple[str, dict[str, str] | None]]:
    assert {pattern.name for pattern in urlpatterns} == set(ADDRESSES), "say here what each address is"
    response = ReviewRequest.objects.get().response
    known = {
        "ITEM": campaign.items.order_by("pk")[0].pk,
        "WORKER": response.participation.worker.pseudonym,
        "RESPONSE": response.pk,
        "IMAGE": campaign.images.order_by("pk")[0].pk,
    }
    found = {}
    for name, (place, form) in ADDRESSES.items():
        for word, value in known.items():
            place = place.replace(word, str(value))
            form = form and {
                key.replace(word, str(value)): text.replace(word, str(value)) for key, text in form.items()
            }
        found[name] = (place, form)
    return found


def verdict(response: Response, verdict: str, **more: str) -> dict[str, Any]:
    """The form of a review."""
    given = {"verdict": verdict, **more}
    return {f"r{response.pk}-{name}": value for name, value in given.items()}


def see(who: Someone, path: str, status: int = 200) -> str:
    """A page, which is as all pages must be."""
    sent = who.client.get(path)
    assert sent.status_code == status, path
    text: str = sent.content.decode()
    check_page(text, sent.headers["Content-Security-Policy"])
    return text


def rows() -> list[Any]:
    models = (Campaign, Item, Participation, Assignment, Response, ReviewRequest)
    return [row for model in models for row in model._default_manager.order_by("pk").values_list()]


def test_nobody_else_finds_anything(campaign: Campaign, ann: Participant) -> None:
    eve = Someone("eve")
    locked = Someone("locked", is_staff=True)
    User.objects.filter(pk=locked.user.pk).update(is_active=False)
    before = rows()
    for place, form in addresses(campaign).values():
        for client in (Client(), ann.client, eve.client, locked.client):
            assert client.get(place).status_code == 404, place
            assert client.post(place, form or {}).status_code == 404, place
    assert rows() == before


def test_managers_and_staff_find_all(campaign: Campaign, olga: Someone) -> None:
    manager = Someone("manager")
    campaign.organizers.add(manager.user)
    for who in (olga, manager, Someone("staff", is_staff=True)):
        for name, (place, form) in addresses(campaign).items():
            # Captions have no files for studies, and no plot of systems; no campaign is being created, and
            # none is in Mechanical Turk.
            without = ("campaign_result_files", "campaign_results_plot", "campaign_preview_image")
            if form is not None or name in (*without, "campaign_bonuses"):
                continue
            sent = who.client.get(place)
            if who is manager and place.startswith("/new/"):
                assert sent.status_code == 404
                continue
            assert sent.status_code == 200, place
            if sent.headers["Content-Type"].startswith("text/html"):
                assert "no-store" in sent.headers["Cache-Control"], place
                check_page(sent.content.decode(), sent.headers["Content-Security-Policy"])
            else:
                assert b"".join(sent), place


def test_requests_of_other_sites_are_refused(campaign: Campaign, olga: Someone) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(olga.user)
    before = rows()
    for place, form in addresses(campaign).values():
        if form is not None:
            assert strict.post(place, form).status_code == 403, place
            assert strict.get(place).status_code in (302, 404, 405), place
    assert rows() == before


def test_what_belongs_to_another_campaign_is_not_found(campaign: Campaign, olga: Someone) -> None:
    known = addresses(campaign)
    Campaign.objects.filter(pk=make("write", items=1).pk).update(slug="other")
    Campaign.objects.get(slug="other").organizers.add(olga.user)
    words = ("ITEM", "WORKER", "RESPONSE", "IMAGE", "1.0")
    for name, (place, form) in ADDRESSES.items():
        if any(word in place for word in words):
            there = known[name][0].replace("/words/", "/other/")
            sent = olga.client.get(there) if form is None else olga.client.post(there, known[name][1] or {})
            assert sent.status_code == 404, there


def test_names_are_text(campaign: Campaign, olga: Someone, challenge: Challenge) -> None:
    Campaign.objects.update(title=MARKUP)
    Challenge.objects.update(title=MARKUP)
    no_page = (".csv", ".svg", ".zip", "small/")
    for place, form in addresses(campaign).values():
        if form is None and not place.endswith(no_page) and not place.startswith("/new/"):
            page = see(olga, place)
            assert "&lt;script&gt;" in page, place
            assert MARKUP not in page, place


# Making one


def test_a_campaign_is_made_from_a_text_that_ships(olga: Someone, challenge: Challenge) -> None:
    kinds = see(olga, f"/new/campaign/?challenge={challenge.slug}").replace("&#x27;", "'")
    for task in TASKS.values():
        assert task.title in kinds
        for text in task.texts:
            place = f"/new/campaign/from/{text}/?challenge={challenge.slug}"
            assert place in kinds
            page = see(olga, place)
            assert template_text(text).strip().splitlines()[0] in page.replace("&#x27;", "'")
            assert f'value="{challenge.slug}" selected' in page
            assert ("pictures" in page) == task.needs_image
    see(olga, "/new/campaign/from/invented/", 404)
    form = new_form("words", pictures=2, challenge=challenge.slug)
    page = olga.do("/new/campaign/from/write-coco/", 200, **form).content.decode()
    assert "Create the campaign words?" in page
    assert "<dt>Items</dt><dd>2</dd>" in page
    assert "<dt>Required answers</dt><dd>4</dd>" in page
    assert (
        "An item is released after 10 minutes without activity. Activity keeps it for at most 30 minutes."
        in page
    )
    assert "Your sentences are <em>published</em>." in page
    assert not Campaign.objects.exists()
    form = new_form("words", pictures=2, challenge=challenge.slug, **{"rule-there-is": "hint"})
    made = created(olga, form)
    assert made.texts.get().rules == {**LENIENT, "there-is": "hint"}
    assert (made.challenge, made.state, made.kind) == (challenge, "draft", "write")
    assert list(made.organizers.all()) == [olga.user]
    assert made.images.count() == made.items.count() == 2
    assert (made.settings["answers"], made.settings["review_first"]) == (2, 10)
    texts = made.texts.get()
    assert texts.instructions == template_text("write-coco").strip()
    assert "created the campaign words with 2 items" in see(olga, "/small/organize/trail/")
    assert "/campaigns/words/" in see(olga, "/small/organize/campaigns/")


def test_texts_are_shown_as_workers_see_them(olga: Someone) -> None:
    sent = olga.do("/new/campaign/preview/", 200, instructions=f"# Look\n\n*All* {MARKUP}", consent="**Yes**")
    page = sent.content.decode()
    assert "<h2>Look</h2>" in page
    assert "<em>All</em>" in page
    assert "<strong>Yes</strong>" in page
    assert MARKUP not in page


def test_without_a_challenge(olga: Someone, challenge: Challenge) -> None:
    sent = olga.do("/new/campaign/from/write-coco/", 422, **new_form("own", pictures=1))
    assert "This field is required" in sent.content.decode()
    staff = Someone("staff", is_staff=True)
    made = created(staff, new_form("own", pictures=1))
    assert made.challenge is None
    assert "/campaigns/own/" in see(staff, "/campaigns/")
    see(olga, "/campaigns/own/", 404)


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"slug": "a b"}, "slug", "Enter a valid"),
        ({"answers": "0"}, "answers", "greater than or equal to 1"),
        ({"batch": "51"}, "batch", "less than or equal to 50"),
        ({"trust_share": "1.5"}, "trust_share", "less than or equal to 1"),
        ({"instructions": ""}, "instructions", "This field is required"),
        ({"items": b"image\n"}, "items", "contains no items"),
        ({"pictures": b"no zip"}, "pictures", "must be a valid zip"),
        ({"pictures": zipped({"a/0.jpg": b"", "b/0.jpg": b""})}, "pictures", "must be unique"),
        ({"challenge": "invented"}, "challenge", "Select a valid choice"),
        ({"slug": "taken"}, "slug", "must be new on this server"),
    ],
)
def test_what_is_wrong_stands_at_its_field(
    olga: Someone, challenge: Challenge, given: dict[str, Any], field: str, message: str
) -> None:
    Campaign.objects.filter(pk=make().pk).update(slug="taken")
    changed = {
        name: SimpleUploadedFile("file", value) if isinstance(value, bytes) else value
        for name, value in given.items()
    }
    form = {**new_form("words", pictures=1, challenge=challenge.slug), **changed}
    sent = olga.do("/new/campaign/from/write-coco/", 422, **form)
    page = sent.content.decode()
    check_page(page, sent.headers["Content-Security-Policy"])
    errors = re.search(rf'name="{field}"[\s\S]*?<ul class="errorlist"[^>]*>([\s\S]*?)</ul>', page)
    assert errors, page
    assert message in errors[1].replace("&#x27;", "'")
    assert Campaign.objects.count() == 1


def test_a_campaign_that_was_made_meanwhile(olga: Someone, challenge: Challenge) -> None:
    shown = olga.do(
        "/new/campaign/from/write-coco/", 200, **new_form("words", pictures=1, challenge=challenge.slug)
    )
    Campaign.objects.filter(pk=make().pk).update(slug="words")
    olga.do("/new/campaign/apply/", **hidden_fields(shown.content.decode()))
    assert "The campaign was not created: campaign.slug must be new" in see(olga, "/new/campaign/")
    olga.do("/new/campaign/apply/", sha256="0" * 64, seen="0")
    assert "upload it again" in see(olga, "/new/campaign/")
    assert Campaign.objects.count() == 1


# States, progress, a trial


def test_states(campaign: Campaign, olga: Someone) -> None:
    for wanted, label in (
        ("paused", "Resume"),
        ("open", "Pause"),
        ("closing", "Close now"),
        ("closed", "Reopen"),
    ):
        olga.do(f"{ROOT}state/", state=wanted)
        campaign.refresh_from_db()
        assert campaign.state == wanted
        assert label in see(olga, ROOT)
    sent = olga.do(f"{ROOT}state/", 422, state="open")
    assert "This field is required" in sent.content.decode()
    olga.do(f"{ROOT}state/", state="open", reason="more captions")
    assert "changed the state of the campaign words to open: more captions" in see(
        olga, "/small/organize/trail/"
    )
    olga.do(f"{ROOT}state/", state="draft")
    assert "Nothing changed: the state &#x27;open&#x27; can only change to" in see(olga, ROOT)


def test_progress(campaign: Campaign, olga: Someone) -> None:
    page = see(olga, ROOT)
    assert "<strong>6</strong> of 6 answers" in page
    assert "<strong>2</strong> of 2 items finished" in page
    assert "Median time per answer: 11 s (6 answers)." in page
    olga.do(f"{ROOT}answers/", answers=4)
    page = see(olga, ROOT)
    assert "<strong>6</strong> of 8 answers" in page
    assert "2 remaining. 6 answers in the last hour: too few for a forecast." in page
    assert "must be at most" not in page
    sent = olga.do(f"{ROOT}answers/", 422, answers=0)
    assert "greater than or equal to 1" in sent.content.decode()
    for theme in ("light", "dark"):
        for width in ("wide", "narrow"):
            svg = olga.client.get(f"{ROOT}plot.svg?theme={theme}&width={width}")
            assert svg.content.startswith(b"<?xml")
            assert svg.headers["Content-Type"] == "image/svg+xml"
    assert olga.client.get(f"{ROOT}plot.svg").content == olga.client.get(f"{ROOT}plot.svg").content


def test_a_finished_campaign_leads_to_its_release() -> None:
    staff = Someone("staff", is_staff=True)
    campaign = make("triplet", items=2, answers=1)
    (worker,) = join(campaign)
    hint = f'<a href="/campaigns/{campaign.slug}/releases/">Freeze a release</a>'
    for _ in range(2):
        assert hint not in staff.see(f"/campaigns/{campaign.slug}/")
        answer(hold(worker))
    assert hint in staff.see(f"/campaigns/{campaign.slug}/")
    release_files.freeze(None, campaign, "1.0")
    assert hint not in staff.see(f"/campaigns/{campaign.slug}/")


def test_items_are_taken_out_and_given_out_again(campaign: Campaign, olga: Someone) -> None:
    olga.do(f"{ROOT}answers/", answers=4)
    item = campaign.items.order_by("pk")[0]
    (worker,) = join(campaign)
    hold(worker)
    olga.do(f"{ROOT}items/{item.pk}/hold/", held="on")
    item.refresh_from_db()
    assert (item.held, item.free) == (True, 0)
    assert not Assignment.objects.filter(item=item, state="held").exists()
    assert "on hold" in see(olga, f"{ROOT}items/?which=reported")
    assert "2 items" in see(olga, f"{ROOT}items/?which=unfinished")
    campaign.refresh_from_db()
    assert list(audit(campaign)) == []
    for _ in range(2):
        olga.do(f"{ROOT}items/{item.pk}/hold/")
    item.refresh_from_db()
    assert (item.held, item.free) == (False, 1)
    trail = see(olga, "/small/organize/trail/")
    assert trail.count("released an item (0)") == 1
    assert list(audit(campaign)) == []


def test_a_preview_counts_in_nothing(olga: Someone, challenge: Challenge) -> None:
    made = created(olga, new_form("words", pictures=2, challenge=challenge.slug, review_first=1))
    olga.do(f"{ROOT}state/", state="pilot")
    assert 'href="/annotate/words/"' in see(olga, ROOT)
    olga.do("/annotate/words/agree/", texts="1")
    for held in Assignment.objects.order_by("pk"):
        olga.do(
            f"/annotate/words/{held.lease}/answer/", caption="a cart with two red wheels stands in a street"
        )
    olga.see("/annotate/words/")
    for held in Assignment.objects.filter(state="held"):
        olga.do(
            f"/annotate/words/{held.lease}/answer/", caption="a cart with two red wheels stands in a street"
        )
    assert Response.objects.count() == 2
    assert counted(made) == 0
    assert "2 preview answers (excluded from all results)" in see(olga, ROOT)
    assert "<strong>0</strong> of 4 answers" in see(olga, ROOT)
    olga.do(f"{ROOT}state/", state="open")
    (worker,) = join(made)
    answer(hold(worker))
    assert ReviewRequest.objects.count() == 1


def test_previews_do_not_make_trusted_or_use_up_first_reviews() -> None:
    campaign = make("triplet", items=4, checks=2, state="pilot", check_every=2, batch=2)
    (worker,) = join(campaign)
    for _ in range(6):
        for held in assignment.assign_work(worker).assignments:
            answer(held)
    worker.refresh_from_db()
    assert Response.objects.filter(item__is_check=True).exists()
    assert not CheckResult.objects.exists()
    assert (worker.judged, worker.fine) == (0, 0)
    writing = make("write", items=4, state="pilot", review_first=2, batch=1)
    (writer,) = join(writing)
    for _ in range(2):
        answer(hold(writer))
    change_state(None, writing, "open")
    for _ in range(2):
        answer(hold(writer))
    assert ReviewRequest.objects.filter(reason=submit.FIRST).count() == 2
    assert list(audit(campaign)) == list(audit(writing)) == []


# Agreement and its requirements


def test_captions_unlike_the_others_are_reviewed(olga: Someone) -> None:
    campaign = make("write", items=5, answers=4, batch=5)
    campaign.organizers.add(olga.user)
    words = ("dog", "cat", "bus", "boat", "kite")
    texts = ("a {} in a field", "a {} on a field", "the {} in a field", "one {} in grass")
    for text, worker in zip(texts, join(campaign, 4), strict=True):
        for held in assignment.assign_work(worker).assignments:
            caption = text.format(words[int(held.item.key)])
            wrong = held.item.key == "2" and text == texts[1]
            answer(held, "two women play tennis" if wrong else caption)
    place = f"/campaigns/{campaign.slug}"
    page = see(olga, f"{place}/agreement/")
    assert "<dt>Captions below 0.06</dt><dd>1 of 20</dd>" in page
    assert "Send 1 caption to review" in page
    olga.do(f"{place}/agreement/review/")
    assert "No captions to review" in see(olga, f"{place}/agreement/")
    (asked,) = ReviewRequest.objects.filter(reason=UNLIKE)
    assert asked.response.answer == {"caption": "two women play tennis"}
    olga.do(f"{place}/agreement/review/")
    assert ReviewRequest.objects.count() == 1
    assert "two women play tennis" in see(olga, f"{place}/reviews/")
    assert "Reason for review: unlike the other captions of its image" in see(olga, f"{place}/reviews/")
    assert counted(campaign) == 20


def test_agreement_by_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    campaign = make("write", items=2, answers=4, batch=2)
    texts = ("a dog in a field", "a dog on a field", "the dog in a field", "two women play tennis")
    for text, worker in zip(texts, join(campaign, 4), strict=True):
        for held in assignment.assign_work(worker).assignments:
            answer(held, text if held.item.key == "0" else "a cat on a bed")
    commands.agreement(campaign.slug)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "images compared: 2; with too few captions: 0"
    assert lines[1].endswith(" of 8")
    commands.agreement(judged().slug)
    printed = capsys.readouterr().out
    # All groups have equal answers, so little is known of others.
    assert "HC: alpha -0.190 [-1.000, 1.000]; items: 40; answers: 120" in printed
    assert "Alpha: Krippendorff's alpha (nominal scale), with 95% bootstrap intervals over groups" in printed


def judged(**options: Any) -> Campaign:
    """A campaign of triplets: two workers always choose the first, one always the left, one fails checks."""
    campaign = make("triplet", items=40, checks=3, answers=3, batch=4, check_every=4, **options)
    first, second, sided = join(campaign, 3)
    for worker in (first, second, sided):
        while held := assignment.assign_work(worker).assignments:
            for one in held:
                right = "right" if one.mirrored else "left"
                raw = {"choice": right if worker in (first, second) else "left"}
                submit.submit(one, given(raw, seconds=4))
    return campaign


def test_agreement_by_class_and_workers_with_their_numbers(olga: Someone) -> None:
    campaign = judged()
    campaign.organizers.add(olga.user)
    place = f"/campaigns/{campaign.slug}"
    page = see(olga, f"{place}/agreement/")
    # By hand: 40 items; in half of them the third answer differs.
    values = [[1, 1, 1] if row % 2 else [1, 1, 0] for row in range(40)]
    assert f"{krippendorff_alpha(values):.3f}" in page
    assert '<span class="interval">-1.000 to 1.000, nominal</span>' in page
    assert "Krippendorff&#x27;s alpha (nominal scale), with 95% bootstrap intervals over groups" in page
    assert "first: 100; second: 20" in page
    page = see(olga, f"{place}/workers/")
    assert page.count('100 % <span class="muted">of 40</span>') >= 1
    assert page.count('">always the same</span>') == 1
    assert page.count("4 s") == 3
    sided = Participation.objects.order_by("pk").last()
    assert sided is not None
    page = see(olga, f"{place}/workers/{sided.worker.pseudonym}/")
    assert re.search(
        r"<dt>Agrees with majority</dt><dd>50 % <span class=.interval.>\d+ to \d+</span> of 40\s*</dd>", page
    )
    assert "<dt>Left side</dt><dd>100 %" in page
    assert "(p &lt; 0.001, two-sided binomial test against 50 %)" in page


def test_what_it_takes_before_opening_and_after(olga: Someone) -> None:
    campaign = make("pairwise", items=100, state="draft")
    campaign.organizers.add(olga.user)
    place = f"/campaigns/{campaign.slug}/plan/"
    page = see(olga, f"{place}?seconds=9&hourly=12&fee=33&workers=10&hours=2&yes=50&concentration=1")
    assert '<td class="number">1,100</td>' in page
    # 1,100 answers of 9 s are 2.75 hours: 33 at 12 an hour, and a third more.
    assert '<td class="number">43.89</td>' in page
    assert "no answers have been timed yet" in page
    said = forecast(
        images=100,
        agreement=Agreement(yes=0.5, concentration=1),
        prices=Prices(seconds=9, hourly=12, fee=0.33),
        options=EffortOptions(votes=11, curtail=True),
    )
    # Pairs end when they are decided, so 1,100 answers are the most.
    assert 600 < said.answers < 1100
    row = re.search(r"Expected \(early stopping.*?</tr>", page, re.DOTALL)
    assert row
    assert f'<td class="number">{said.answers:,.0f}</td>' in row[0]
    assert "Maximum" in page
    assert f"<dd>± {100 * said.width:.1f} points</dd>" in page
    assert f"{100 * said.difference:.1f} points (detectable with 80 % power)" in page
    assert "Disagreement is assumed for now" in page
    sent = olga.client.get(f"{place}?seconds=0&hourly=x")
    assert sent.status_code == 422
    assert "Enter a number" in sent.content.decode()
    other = judged()
    other.organizers.add(olga.user)
    page = see(olga, f"/campaigns/{other.slug}/plan/")
    assert "estimated from the campaign's answers" in page.replace("&#x27;", "'")
    assert "Disagreement between workers" not in page
    write = make("write", items=3)
    write.organizers.add(olga.user)
    assert "interval" not in see(olga, f"/campaigns/{write.slug}/plan/")


# Workers


def test_links_are_shown_once(campaign: Campaign, olga: Someone) -> None:
    sent = olga.do(f"{ROOT}workers/invite/", 200, number=2)
    links = re.findall(r"http://testserver(/annotate/words/enter/work_[^<]+)", sent.content.decode())
    assert len(set(links)) == 2
    assert "work_" not in see(olga, f"{ROOT}workers/")
    client = Client()
    assert "I agree" in client.get(links[0], follow=True).content.decode()
    worker = Participation.objects.filter(stage="invited").order_by("pk")[0].worker
    for confirm, status in (("", 200), ("on", 404)):
        olga.do(f"{ROOT}workers/{worker.pseudonym}/revoke/", confirm=confirm)
        assert client.get("/annotate/words/").status_code == status
    sent = olga.do(f"{ROOT}workers/invite/", 422, number=0)
    assert "greater than or equal to 1" in sent.content.decode()


def test_blocking_shows_what_it_would_do_and_is_undone(campaign: Campaign, olga: Someone) -> None:
    worker = Participation.objects.order_by("pk")[0]
    place = f"{ROOT}workers/{worker.worker.pseudonym}/"
    page = see(olga, place)
    assert "<strong>2 answers</strong> will be excluded." in page
    assert "<strong>2 items</strong> will be reopened." in page
    assert "Existing releases keep this worker's answers and are marked: 1.0." in page
    sent = olga.do(f"{place}block/", 422, reason=" ")
    assert "This field is required" in sent.content.decode()
    assert counted(campaign) == 6
    olga.do(f"{place}block/", reason="copies")
    assert counted(campaign) == 4
    assert "2 answers excluded" in see(olga, place)
    assert "2 answers in this release have since been rejected" in see(olga, f"{ROOT}releases/")
    sent = olga.do(f"{place}block/", 422, reason="again")
    assert "already blocked" in sent.content.decode()
    olga.do(f"{place}lift/", reason="a mistake")
    assert counted(campaign) == 6
    page = see(olga, place)
    assert "copies" in page
    assert "a mistake" in page
    sent = olga.do(f"{place}lift/", 422, reason="again")
    assert "this worker is not blocked" in sent.content.decode()
    assert list(audit(campaign)) == []


def test_who_failed_checks_goes_on_once_somebody_looked(olga: Someone) -> None:
    campaign = make("triplet", items=4)
    campaign.organizers.add(olga.user)
    (worker,) = join(campaign)
    place = f"/campaigns/{campaign.slug}/workers/{worker.worker.pseudonym}/"
    assert "Resume the worker" not in see(olga, place)
    sent = olga.do(f"{place}resume/", 422, reason="a slip")
    assert "paused" in sent.content.decode()
    Participation.objects.update(stage="paused")
    assert "Resume the worker" in see(olga, place)
    olga.do(f"{place}resume/", reason="a slip")
    worker.refresh_from_db()
    assert worker.stage == "working"


# Reviews


def test_reviews_are_blind_and_never_of_ones_own(campaign: Campaign, olga: Someone) -> None:
    response = ReviewRequest.objects.get().response
    worker = response.participation.worker
    page = see(olga, f"{ROOT}reviews/")
    assert response.answer["caption"] in page
    assert "drawn at random" in page
    assert worker.pseudonym not in page
    place = f"{ROOT}reviews/{response.pk}/"
    sent = olga.do(place, 422, **verdict(response, "rejected"))
    assert "is required to reject an answer" in sent.content.decode().replace("&#x27;", "'")
    assert response.answer["caption"] in sent.content.decode()
    worker.user = olga.user
    worker.save()
    assert response.answer["caption"] not in see(olga, f"{ROOT}reviews/")
    olga.do(place, **verdict(response, "fine"))
    assert "you cannot review your own answers" in see(olga, f"{ROOT}reviews/")
    staff = Someone("staff", is_staff=True)
    before = response.answer
    staff.do(place, **verdict(response, "rejected", reason="nonsense", answer="x"), answer="x")
    response.refresh_from_db()
    assert response.answer == before
    assert counted(campaign) == 5
    assert "No answers to review" in see(staff, f"{ROOT}reviews/")
    staff.do(place, **verdict(response, "fine"))
    assert counted(campaign) == 6


def test_pictures_are_for_managers(campaign: Campaign, olga: Someone) -> None:
    image = campaign.images.order_by("pk")[0]
    for size in ("small", "large"):
        sent = olga.client.get(f"{ROOT}images/{image.pk}/{size}/")
        assert b"".join(sent)
        assert sent.headers["Content-Type"] == "image/jpeg"
        assert "private" in sent.headers["Cache-Control"]
    assert olga.client.get(f"{ROOT}images/{image.pk}/original/").status_code == 404


# Releases


PLANS = {"val": {"images": 2, "references": 2, "private": True, "held_out": True}}


def freeze_form(name: str = "2.0", **given: Any) -> dict[str, Any]:
    plans = SimpleUploadedFile("plans.json", json.dumps(PLANS).encode())
    return {"name": name, "seed": 0, "plans": plans, **given}


def test_freezing_verifying_and_downloading(campaign: Campaign, olga: Someone) -> None:
    olga.do(f"{ROOT}releases/", **freeze_form())
    release = campaign.releases.get(name="2.0")
    page = see(olga, f"{ROOT}releases/")
    assert "<dt>Splits</dt><dd>val</dd>" in page
    olga.do(f"{ROOT}releases/2.0/verify/")
    assert "Verified the release 2.0" in see(olga, f"{ROOT}releases/")
    sent = olga.client.get(f"{ROOT}releases/2.0/files.zip")
    assert Action.objects.filter(what=f"downloaded the release 2.0 of the campaign {campaign.slug}").exists()
    with zipfile.ZipFile(io.BytesIO(b"".join(sent))) as archive:
        names = set(archive.namelist())
        provenance = archive.read("provenance.csv")
    assert names >= {"provenance.csv", "2.0/manifest.json", "2.0/private/captions_val.json"}
    assert provenance == (release_files.folder_of(release).parent / "provenance.csv").read_bytes()
    (release_files.folder_of(release) / "private" / "captions_val.json").write_text("{}")
    olga.do(f"{ROOT}releases/2.0/verify/")
    assert "The release 2.0 has changed since it was frozen" in see(olga, f"{ROOT}releases/")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "1.0"}, "release '1.0' already exists"),
        ({"name": "a b"}, "a release's name must be"),
        ({"plans": SimpleUploadedFile("plans.json", b"[")}, "plans.json"),
        ({"seed": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_can_not_be_frozen(
    campaign: Campaign, olga: Someone, given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    sent = olga.do(f"{ROOT}releases/", 422, **freeze_form(**given))
    page = sent.content.decode().replace("&#x27;", "'")
    assert message in page
    assert "/tmp" not in page
    assert campaign.releases.count() == 1


def test_images_that_lack_captions_are_named_or_left_out(campaign: Campaign, olga: Someone) -> None:
    moderation.block(None, Participation.objects.order_by("pk")[0], "copies")
    form = {"name": "2.0", "seed": 0}
    sent = olga.do(f"{ROOT}releases/", 422, **form)
    assert "each image must have all its captions (missing for" in sent.content.decode()
    sent = olga.do(f"{ROOT}releases/", 422, **form, leave_out="on")
    assert "no captions to freeze" in sent.content.decode()


def test_a_release_becomes_a_challenge(campaign: Campaign, olga: Someone) -> None:
    staff = Someone("staff", is_staff=True)
    olga.do(f"{ROOT}releases/", **freeze_form())
    olga.do(f"{ROOT}releases/2.0/challenge/", 404)
    assert "Use in a new challenge" not in see(olga, f"{ROOT}releases/")
    shown = staff.do(f"{ROOT}releases/2.0/challenge/", 200).content.decode()
    assert "Create the challenge words?" in shown
    staff.do("/new/apply/", **hidden_fields(shown))
    made = Challenge.objects.get(slug="words")
    assert {entry.name for entry in ReferenceSet.objects.filter(split__challenge=made)} == {"c2"}
    # The next release is the next version of its references.
    place = f"{ROOT}releases/2.0/references/"
    see(staff, place)
    entry = ReferenceSet.objects.get(split__challenge=made)
    sent = staff.do(place, 200, split="val", references=str(entry.pk)).content.decode()
    assert "These are the references of version 1" in sent
    worker = Participation.objects.order_by("pk")[0]
    moderation.block(None, worker, "copies")
    (other,) = join(campaign)
    for held in assignment.assign_work(other).assignments:
        answer(held, f"a woman rides horse {held.item.key}")
    staff.do(f"{ROOT}releases/", **freeze_form("3.0"))
    shown = staff.do(
        f"{ROOT}releases/3.0/references/", 200, split="val", references=str(entry.pk)
    ).content.decode()
    assert "Publish version 2 of c2?" in shown
    staff.do("/words/organize/references/val/c2/publish/", **hidden_fields(shown))
    entry.refresh_from_db()
    assert entry.version == 2
    wrong = ReferenceSet.objects.get(split__challenge__slug="small", name="c2")
    sent = staff.do(f"{ROOT}releases/3.0/references/", 422, split="val", references=str(wrong.pk))
    assert "images" in sent.content.decode()


def test_results_of_judgments(olga: Someone, campaign: Campaign) -> None:
    other = judged()
    other.organizers.add(olga.user)
    place = f"/campaigns/{other.slug}"
    sent = olga.client.get(f"{place}/results.zip")
    with zipfile.ZipFile(io.BytesIO(b"".join(sent))) as archive:
        assert set(archive.namelist()) == {"pairs.csv", "triplets.csv", "votes.csv", "winners.csv"}
        assert len(archive.read("votes.csv").splitlines()) == 121
    assert olga.client.get(f"{ROOT}results.zip").status_code == 404
    assert "results.zip" in see(olga, f"{place}/results/")
    olga.do(f"{place}/releases/", name="1.0", seed=0)
    page = see(olga, f"{place}/releases/")
    assert "Publish as references" not in page
    empty = make()
    empty.organizers.add(olga.user)
    olga.do(f"/campaigns/{empty.slug}/releases/", 422, name="1.0", seed=0)
    assert olga.client.get(f"/campaigns/{empty.slug}/results.zip").status_code == 302
    assert "The results cannot be downloaded" in see(olga, f"/campaigns/{empty.slug}/results/")
