"""Worker pages in the language of their campaign."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from capeval_server.annotation.core.languages import describe_language, find_page_language
from capeval_server.annotation.models import Assignment, Campaign
from capeval_server.annotation.workers import enrollment
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
