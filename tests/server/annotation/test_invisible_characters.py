"""Invisible characters in captions: rejected in answers, marked in reviews, never released unnoticed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given as drawn
from hypothesis import strategies as st

from capeval.formats import load_references
from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.models import Campaign, Draft, Response, ReviewRequest
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.text_rules.invisible_characters import (
    describe_invisible,
    find_invisible,
    remove_invisible,
)
from capeval_server.annotation.text_rules.rules import TextCheckResult
from capeval_server.annotation.workers import enrollment
from capeval_server.commands import annotation_releases as commands
from capeval_server.core.errors import CampaignError, SentenceError
from capeval_server.web.invisible_characters import visible
from tests.server.annotation.test_api import Program
from tests.server.annotation.test_pages import enter, picture, write_campaign
from tests.server.campaigns import answer, given, hold, join, make
from tests.server.kit import Someone
from tests.server.pages import check_page
from tests.server.web.test_campaign_pages import see

NO_VIOLATIONS = TextCheckResult(findings=(), blocked=False, unconfirmed=(), reasons={})
REVERSED = "A dog \u202eruns over\u202c a wide green meadow now"
CLEANED = "A dog runs over a wide green meadow now"
SPLIT = "A d\u200bo\u200bg runs over the green grass"

REFUSED = [
    *(f"a dog {chr(code)}runs" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))),
    *(f"a d{chr(code)}og" for code in (0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x061C, 0xAD, 0x2060, 0xFEFF)),
    *(f"a d{chr(code)}og" for code in (0x07, 0x7F, 0x9B, 0x034F, 0x180E, 0x3164, 0xFE0F, 0xE0061, 0xE0101)),
    # Two joiners, joiners at an end or between other characters, and selectors that select nothing.
    "\u0645\u06cc\u200c\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0645\u06cc\u200c",
    "\u200da dog",
    "a \u200d dog",
    "\U0001f469\u200d dog",
    "1\ufe0f dogs",
    "\U0001f600\ufe0f\ufe0f\U000e0101",
    # Tags that make no flag.
    "\U0001f600\U000e0067\U000e0062\U000e007f",
    "\U0001f3f4\U000e0067\U000e0062",
]
NEEDED = [
    "A dog, isn\u2019t it? \u00c9t\u00e9\u00a0!",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian: "I want".
    "\u0915\u094d\u200d\u0937",  # Devanagari: a half form.
    "\u0915\u094d\u200c \u0915",
    "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sinhala: "Sri".
    "\u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd",
    "\U0001f468\U0001f3fd\u200d\U0001f4bb \U0001f469\u200d\u2764\ufe0f\u200d\U0001f468",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\u2764\ufe0f 1\ufe0f\u20e3 \u2122\ufe0f",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # Scotland.
    "\u845b\U000e0100 \u2229\ufe00",
    "two\nlines\tand\x85more",
]


@pytest.mark.parametrize("text", REFUSED)
def test_invisible_characters_are_found_and_removed(text: str) -> None:
    assert find_invisible(text)
    assert find_invisible(remove_invisible(text)) == ()


@pytest.mark.parametrize("text", NEEDED)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert find_invisible(text) == ()
    assert remove_invisible(text) == " ".join(text.split())


ODD = st.text(
    alphabet="a1 \u200b\u200c\u200d\ufe0f\ufe00\u20e3\u0645\u0915\u094d"
    "\U0001f469\U0001f3fd\U0001f3f4\U000e0067\U000e007f\u3164"
)


@drawn(st.text(alphabet=st.characters(exclude_categories=["Cs"])) | ODD)
def test_what_is_removed_leaves_nothing_invisible(text: str) -> None:
    cleaned = remove_invisible(text)
    assert find_invisible(cleaned) == ()
    assert remove_invisible(cleaned) == cleaned


def test_an_error_names_the_character_and_its_place() -> None:
    assert describe_invisible("a dog") == ""
    assert describe_invisible("A dog\u202e runs") == "U+202E RIGHT-TO-LEFT OVERRIDE after 'A dog'"
    assert describe_invisible("\ufeffa \x07b") == (
        "U+FEFF ZERO WIDTH NO-BREAK SPACE at the start; U+0007 CONTROL CHARACTER after 'a'"
    )
    long = describe_invisible("a\u200b" * 12)
    assert long.count("U+200B") == 5
    assert long.endswith("after 'aaaaa'; and 7 more")


def test_a_mark_stands_in_the_place_of_each() -> None:
    shown = visible("<b>\u202eabc\u202c d")
    assert shown == (
        '<bdi>&lt;b&gt;<code class="invisible" title="RIGHT-TO-LEFT OVERRIDE">U+202E</code>abc'
        '<code class="invisible" title="POP DIRECTIONAL FORMATTING">U+202C</code> d</bdi>'
    )
    assert visible("a dog") == "<bdi>a dog</bdi>"


@pytest.mark.django_db
def test_an_answer_and_its_revision_are_refused() -> None:
    held = hold(join(make("write"))[0])
    with pytest.raises(
        SentenceError, match=r"invisible characters \(U\+202E RIGHT-TO-LEFT OVERRIDE after 'A dog'"
    ):
        answer(held, REVERSED)
    assert not Response.objects.exists()
    answer(held, CLEANED)
    with pytest.raises(SentenceError, match=r"U\+200B ZERO WIDTH SPACE after 'A d'"):
        answer(held, SPLIT, revision=2)
    assert [row.answer["caption"] for row in Response.objects.all()] == [CLEANED]


@pytest.mark.django_db
def test_a_program_is_told_the_cleaned_sentence() -> None:
    campaign = make("write", items=1, answers=1)
    (token,) = enrollment.invite(None, campaign, 1)
    worker, place = Program(token), f"annotate/{campaign.slug}"
    worker.ask("POST", f"{place}/agree", {"texts": 1})
    (item,) = worker.ask("POST", f"{place}/next", {})["items"]
    lease = f"{place}/items/{item['lease']}"
    refused = worker.ask("POST", f"{lease}/answer", {"answer": {"caption": REVERSED}, "key": "a"}, 422)
    assert "U+202E RIGHT-TO-LEFT OVERRIDE after 'A dog'" in refused["detail"]
    looked = worker.ask("POST", f"{lease}/check", {"caption": REVERSED})
    assert [finding["rule"] for finding in looked["findings"]] == ["invisible"]
    assert looked["cleaned"] == CLEANED
    assert worker.ask("POST", f"{lease}/check", {"caption": CLEANED})["cleaned"] is None
    worker.ask("POST", f"{lease}/answer", {"answer": {"caption": CLEANED}, "key": "b"})


@pytest.mark.django_db
def test_without_a_script_one_button_removes_them_and_the_writer_submits(tmp_path: Path) -> None:
    campaign = made_of_pictures(tmp_path)
    client = enter(campaign)
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})

    def page() -> str:
        got = client.get(f"/annotate/{campaign.slug}/")
        text: str = got.content.decode()
        check_page(text, got.headers["Content-Security-Policy"])
        return text

    first = page()
    address = re.search(r'action="(/annotate/[^"]+/answer/)"', first)
    assert address is not None
    assert first.count('name="clean" value="1" hidden>') == first.count('name="clean"') == 5
    client.post(address[1], {"caption": REVERSED, "revision": "1"})
    again = page()
    assert "Not stored: Please remove the invisible characters (U+202E RIGHT-TO-LEFT OVERRIDE after" in again
    assert again.count('name="clean" value="1">Remove invisible characters</button>') == 1
    client.post(address[1], {"caption": REVERSED, "revision": "1", "clean": "1"})
    assert not Response.objects.exists()
    assert [draft.content for draft in Draft.objects.all()] == [{"caption": CLEANED}]
    cleaned = page()
    assert f">{CLEANED}</textarea>" in cleaned
    assert "Please read the sentence again, then submit it." in cleaned
    assert cleaned.count('name="clean" value="1">') == 0
    client.post(address[1], {"caption": CLEANED, "revision": "1"})
    assert [row.answer["caption"] for row in Response.objects.all()] == [CLEANED]


def made_of_pictures(folder: Path) -> Campaign:
    path = write_campaign(folder, {f"{number}.jpg": picture(640 + number) for number in range(5)})
    return change_state(None, make_campaign(None, path), "open")


def of_before(
    monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...] = (REVERSED, SPLIT, CLEANED)
) -> Campaign:
    """A campaign with captions that were stored before there was the rule."""
    campaign = make("write", items=len(texts), answers=1, batch=len(texts))
    with monkeypatch.context() as early:
        early.setattr(submit, "check_sentence", lambda *_: NO_VIOLATIONS)
        (worker,) = join(campaign)
        leases = sorted(assignment.assign_work(worker).assignments, key=lambda held: held.item.key)
        for held, text in zip(leases, texts, strict=True):
            submit.submit(held, given({"caption": text}))
    campaign.organizers.add(*User.objects.filter(username="olga"))
    return campaign


@pytest.mark.django_db
def test_a_reviewer_sees_the_stored_order(monkeypatch: pytest.MonkeyPatch, olga: Someone) -> None:
    campaign = of_before(monkeypatch)
    for row in Response.objects.all():
        ReviewRequest.objects.create(response=row, reason="drawn at random", time=row.received)
    text = see(olga, f"/campaigns/{campaign.slug}/reviews/")
    assert "\u202e" not in text
    assert "\u200b" not in text
    mark = '<code class="invisible" title="{}">{}</code>'
    override = mark.format("RIGHT-TO-LEFT OVERRIDE", "U+202E")
    end = mark.format("POP DIRECTIONAL FORMATTING", "U+202C")
    assert f"<bdi>A dog {override}runs over{end} a wide green meadow now</bdi>" in text
    assert f"<bdi>{CLEANED}</bdi>" in text


@pytest.mark.django_db
def test_they_are_not_frozen_unseen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> None:
    settings.RELEASES = tmp_path
    campaign = of_before(monkeypatch)
    first, second = Response.objects.order_by("pk")[:2]
    with pytest.raises(CampaignError) as refused:
        release_files.freeze(None, campaign, "1.0")
    told = str(refused.value)
    assert f"answer {first.pk} of image '0': U+202E RIGHT-TO-LEFT OVERRIDE after 'A dog'; U+202C" in told
    assert f"answer {second.pk} of image '1': U+200B ZERO WIDTH SPACE after 'A d'" in told
    assert "reject these answers" in told
    assert "--without-invisible" in told
    assert not campaign.releases.exists()
    # Refused again, they are not asked for twice.
    with pytest.raises(CampaignError):
        release_files.freeze(None, campaign, "1.0")
    asked = ReviewRequest.objects.filter(reason="one with invisible characters").order_by("pk")
    assert [each.response for each in asked] == [first, second]
    assert {first, second} <= set(moderation.list_review_queue(campaign))


@pytest.mark.django_db
def test_they_are_removed_by_choice_and_the_manifest_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES = tmp_path
    campaign = of_before(monkeypatch)
    first, second = Response.objects.order_by("pk")[:2]
    release = release_files.freeze(None, campaign, "1.0", without_invisible=True)
    folder = release_files.folder_of(release)
    assert release_files.verify(release)
    found = load_references(folder / "public" / "captions_all.json")
    assert [texts[0] for texts in found.values()] == [CLEANED, "A dog runs over the green grass", CLEANED]
    assert json.loads((folder / "manifest.json").read_text())["invisible_removed"] == [
        {"response": first.pk, "image": "0", "characters": ["U+202E", "U+202C"]},
        {"response": second.pk, "image": "1", "characters": ["U+200B", "U+200B"]},
    ]
    # Submitted texts are stored unchanged.
    first.refresh_from_db()
    assert first.answer == {"caption": REVERSED}


@pytest.mark.django_db
def test_a_rejected_caption_is_left_out_and_an_empty_one_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any, olga: Someone
) -> None:
    settings.RELEASES = tmp_path
    campaign = of_before(monkeypatch, (REVERSED, "\u200b\u200b", CLEANED))
    first, second, _ = Response.objects.order_by("pk")
    with pytest.raises(CampaignError, match=rf"\(got answer {second.pk} of image '1': U\+200B"):
        release_files.freeze(None, campaign, "1.0", without_invisible=True)
    for row in (first, second):
        moderation.review(olga.user, row, "rejected", reason="nonsense")
    release = release_files.freeze(None, campaign, "1.0", leave_out=True)
    assert release.responses.count() == 1
    assert "invisible_removed" not in (release_files.folder_of(release) / "manifest.json").read_text()


@pytest.mark.django_db
def test_the_page_and_the_command_ask_for_the_choice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any, olga: Someone
) -> None:
    settings.RELEASES = tmp_path
    campaign = of_before(monkeypatch)
    address, name = f"/campaigns/{campaign.slug}/releases/", {"name": "1.0", "seed": "0"}
    refused = olga.client.post(address, name)
    assert refused.status_code == 422
    check_page(refused.content.decode(), refused.headers["Content-Security-Policy"])
    assert list(refused.context["form"].errors) == ["without_invisible"]
    done = olga.client.post(address, {**name, "without_invisible": "on"})
    assert done.status_code == 302
    assert campaign.releases.get().responses.count() == 3
    with pytest.raises(CampaignError, match="captions must have no invisible characters"):
        commands.freeze(campaign.slug, "1.1")
    commands.freeze(campaign.slug, "1.1", without_invisible=True)
    assert release_files.verify(campaign.releases.get(name="1.1"))
