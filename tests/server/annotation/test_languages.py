"""Worker pages in the language of their campaign."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from PIL import Image

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.campaigns.setting_warnings import list_warnings
from capeval_server.annotation.core.languages import describe_language, find_page_language
from capeval_server.annotation.models import Assignment, Campaign
from capeval_server.annotation.text_rules.rules import RULES, check_captions
from capeval_server.annotation.text_rules.validation import settings_of
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.enrollment import latest_texts
from tests.server.campaigns import make
from tests.server.kit import Someone
from tests.server.pages import check_page
from tests.server.web.test_campaign_pages import created, new_form

pytestmark = pytest.mark.django_db


def see(client: Client, campaign: Campaign, path: str = "") -> str:
    answer = client.get(f"/annotate/{campaign.slug}/{path}", follow=True)
    text = answer.content.decode()
    check_page(text, answer.headers["Content-Security-Policy"])
    return text


def enter(campaign: Campaign) -> Client:
    (token,) = enrollment.invite(None, campaign, 1)
    client = Client()
    client.get(f"/annotate/{campaign.slug}/enter/{token}/")
    return client


def test_a_campaign_in_german_from_the_link_to_the_end() -> None:
    campaign = make("write", items=1, answers=1, language="de")
    client = enter(campaign)
    texts = see(client, campaign)
    assert '<html lang="de">' in texts
    assert "Ich stimme zu" in texts
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "7"})
    assert "Die Anleitung hat sich geändert" in see(client, campaign)
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})
    work = see(client, campaign)
    assert "Ihr Satz" in work
    assert re.search(r'<textarea[^>]* lang="de" dir="auto"', work)
    (held,) = Assignment.objects.all()
    place = f"/annotate/{campaign.slug}/{held.lease}/answer/"
    refused = client.post(place, {"caption": ""}, headers={"Accept": "application/json"})
    assert refused.json() == {"detail": "der Satz darf nicht leer sein"}
    stored = client.post(place, {"caption": "Ein Hund läuft."}, follow=True).content.decode()
    assert "Ihre Antwort ist gespeichert." in stored
    assert "Sie haben 1 Aufgabe beantwortet. Vielen Dank." in stored
    assert "Schreibregeln" in see(client, campaign, "rules/")
    assert "Teilnahme widerrufen" in see(client, campaign, "leave/")


def test_organizers_read_english() -> None:
    campaign = make("pairwise", language="de")
    client = enter(campaign)
    assert '<html lang="de">' in see(client, campaign)
    page = Someone("staff", is_staff=True).see(f"/campaigns/{campaign.slug}/")
    assert '<html lang="en">' in page
    assert "German (not reviewed)" in page
    missing = client.get(f"/annotate/{campaign.slug}/00000000-0000-0000-0000-000000000000/image/small/")
    assert '<html lang="en">' in missing.content.decode()


@pytest.mark.parametrize(
    ("code", "page", "described"),
    [
        ("de-AT", "de", "German (not reviewed)"),
        ("en-GB", "en", "English"),
        ("is", "en", "Icelandic (pages in English)"),
        ("xx-Latn", "en", "xx-Latn (pages in English)"),
    ],
)
def test_languages_of_pages(code: str, page: str, described: str) -> None:
    assert (find_page_language(code), describe_language(code)) == (page, described)


def test_texts_in_a_language_without_translation_are_marked() -> None:
    campaign = make("triplet", language="he")
    client = enter(campaign)
    page = see(client, campaign)
    assert '<html lang="en">' in page
    assert '<div class="prose" lang="he" dir="auto">' in page
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})
    assert '<span class="sentence" lang="he" dir="auto">a hound</span>' in see(client, campaign)


def test_an_invalid_language_is_rejected_in_the_form() -> None:
    staff = Someone("staff", is_staff=True)
    form = new_form("pages", pictures=1, language="German")
    page = staff.do("/new/campaign/from/write-coco/", 422, **form).content.decode()
    assert "must be a language code such as de, pt-BR or zh-Hant (got &#x27;German&#x27;)" in page
    created(staff, new_form("pages", pictures=1, language="de"))
    assert Campaign.objects.get().settings["language"] == "de"


def test_rules_for_english_are_off_in_other_languages(tmp_path: Path) -> None:
    write_campaign(tmp_path, 'language = "de"')
    campaign = make_campaign(None, tmp_path / "campaign.toml")
    german = ["Am Hafen liegt ein Boot, und der Mann will eine Picture of a dog zeigen."]
    settings = settings_of(latest_texts(campaign))
    assert [[each.rule for each in found] for found in check_captions(german, settings)] == [[]]
    assert [each.rule for each in check_captions(german)[0]] != []
    # A level that is given stays, also in a later version.
    lifecycle.set_rules(None, campaign, {"name": "hint"})
    later = settings_of(latest_texts(campaign))
    levels = {rule.name: later.level(rule) for rule in RULES.values() if rule.english}
    assert levels.pop("name") == "hint"
    assert set(levels.values()) == {"off"}
    page = Path("docs/server/annotation.md").read_text(encoding="utf-8")
    assert all(f"`{rule.name}`" in page for rule in RULES.values() if rule.english)


@pytest.mark.parametrize(
    ("about", "options", "expected"),
    [
        ("", 'language = "en-GB"', []),
        ("", 'language = "de"', ["instructions and consent text are"]),
        ('consent = "de.md"', 'language = "de"', ["instructions are"]),
        ('consent = "de.md"\ninstructions = "de.md"', 'language = "de"', []),
    ],
)
def test_english_texts_in_other_languages_are_a_warning(
    tmp_path: Path, about: str, options: str, expected: list[str]
) -> None:
    write_campaign(tmp_path, options, about)
    campaign = make_campaign(None, tmp_path / "campaign.toml")
    found = list_warnings(campaign)
    assert [f"built-in {start} in English" in text for start, text in zip(expected, found, strict=True)] == [
        True
    ] * len(expected)
    page = Someone("staff", is_staff=True).see(f"/campaigns/{campaign.slug}/quality/")
    assert ("in English, but the language of the campaign is German" in page) == bool(expected)


def write_campaign(folder: Path, options: str, about: str = "") -> None:
    Image.new("RGB", (64, 48)).save(folder / "0.jpg")
    (folder / "de.md").write_text("# Beschreiben Sie das Bild", encoding="utf-8")
    head = f'[campaign]\nslug = "hafen"\ntitle = "Hafen"\nkind = "write"\nimages = "."\n{about}'
    (folder / "campaign.toml").write_text(f"{head}\n[settings]\n{options}\n", encoding="utf-8")
