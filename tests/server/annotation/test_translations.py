"""Catalogs of the worker pages, and texts on these pages that are not in the catalogs."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from django.test import Client, override_settings
from django.utils import translation

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.core.languages import list_page_languages
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Assignment, Campaign, Participation, Session
from capeval_server.annotation.responses.content_warnings import set_warning
from capeval_server.annotation.task_types import TASKS
from capeval_server.annotation.text_rules.rules import check_captions
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.panels import set_panel
from capeval_server.web.worker.script_texts import list_script_texts
from scripts.goldens.campaigns import TRAINED, answer_to, campaign_files
from scripts.translations import LOCALES, compile_catalog, extract_messages, list_problems, read_catalog
from tests.server.pages import check_page
from tests.server.pseudo_locale import (
    LANGUAGE,
    find_untranslated,
    find_untranslated_text,
    write_pseudo_locale,
)

CATALOGS = sorted(LOCALES.glob("*/LC_MESSAGES/django.po"))
STATIC = LOCALES.parent / "static" / "capeval"
SCRIPT: dict[str, Any] = {"headers": {"Accept": "application/json"}}


# Catalogs


@pytest.fixture(scope="module")
def sources() -> Catalog:
    return extract_messages()


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.parents[1].name)
def test_catalogs_are_complete_and_compiled(path: Path, sources: Catalog) -> None:
    catalog = read_catalog(path)
    assert list(list_problems(catalog, sources)) == [], "run `make translations`"
    compiled = io.BytesIO()
    compile_catalog(catalog, compiled)
    assert path.with_suffix(".mo").read_bytes() == compiled.getvalue(), "run `make translations`"


def test_the_option_lists_the_languages() -> None:
    described = CampaignOptions.described()["language"]["description"]
    listed = re.findall(r"(\w+) \(([a-z-]+)(, not reviewed)?\)", described)
    known = list_page_languages().values()
    assert listed == [(each.name, each.code, "" if each.is_reviewed else ", not reviewed") for each in known]
    assert len(listed) == len(CATALOGS) + 1


def test_problems_of_catalogs(sources: Catalog) -> None:
    catalog = read_catalog(CATALOGS[0])
    catalog["Submit"].string = ""
    catalog["Save"].flags.add("fuzzy")
    catalog["Not stored: {problem}."].string = "Nicht gespeichert: {reason}."
    catalog["Image"].string = '"Bild"'
    catalog.delete("Keys")
    catalog.add("Kyes", "Tasten")
    label = "Your pseudonym in this study is <strong>%(pseudonym)s</strong>."
    catalog[label].string = "Ihr Pseudonym ist %(pseudonym)s."
    catalog[" or "].string = "oder"
    problems = "\n".join(list_problems(catalog, sources))
    assert re.findall(r"^[\w ]+", problems, re.MULTILINE) == [
        "missing",
        "not in the sources",
        *("other white space at the ends of ", "straight quotation marks instead of typographic ones in "),
        *("other placeholders in ", "fuzzy", "not translated", "other elements in "),
    ]


def test_scripts_contain_no_texts() -> None:
    found: list[str] = []
    for name in ("annotate.js", "outbox.js"):
        source = re.sub(r"^\s*//.*$|/\*.*?\*/", "", (STATIC / name).read_text(), flags=re.MULTILINE)
        texts = re.findall(r'"([^"\n]*)"|`([^`]*)`', source)
        found += [text for pair in texts for text in pair if re.search(r"[A-Za-z]{2,}[.,:]? [a-z]{2,}", text)]
    selectors = ["button kbd", "input, textarea, select"]
    assert found == selectors


# Pages in the pseudo-locale


class Worker:
    """A worker's browser that fails on a page with a text that is not translated."""

    def __init__(self, campaign: Campaign, query: str = "") -> None:
        self.client = Client()
        self.place = f"/annotate/{campaign.slug}/"
        self.campaign = campaign
        if not query:
            (token,) = enrollment.invite(None, campaign, 1)
            query = f"{token}/"
        self._check(self.client.get(f"{self.place}enter/{query}", follow=True))

    def _check(self, answer: Any) -> str:
        page: str = answer.content.decode()
        check_page(page, answer.headers["Content-Security-Policy"])
        assert '<html lang="ar-xb" dir="rtl">' in page
        # The code of a currency is the same in all languages.
        assert [word for word in find_untranslated(page) if word != "EUR"] == []
        return page

    def see(self, path: str = "") -> str:
        return self._check(self.client.get(f"{self.place}{path}", follow=True))

    def do(self, path: str, **form: str) -> str:
        return self._check(self.client.post(f"{self.place}{path}", form, follow=True))

    def agree(self) -> str:
        return self.do("agree/", texts="1")

    @property
    def held(self) -> Iterator[Assignment]:
        return (
            Assignment.objects.filter(state="held", item__campaign=self.campaign).order_by("place").iterator()
        )

    @property
    def participation(self) -> Participation:
        return Participation.objects.filter(campaign=self.campaign).latest("pk")


@pytest.fixture(scope="module")
def locale_folder(sources: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locale")
    write_pseudo_locale(folder, sources)
    return folder


@pytest.fixture
def pseudo_locale(locale_folder: Path) -> Iterator[None]:
    with override_settings(LOCALE_PATHS=[locale_folder]):
        yield


def translated(slug: str, folder: Path) -> Campaign:
    """Create a campaign of the goldens in the pseudo-locale."""
    return open_translated(campaign_files(slug, folder / slug))


def open_translated(path: Path) -> Campaign:
    """Create a campaign from its file in the pseudo-locale."""
    made = make_campaign(None, path)
    made.settings |= {"language": LANGUAGE, "pay_per_answer": "0.25", "currency": "EUR"}
    made.save()
    return lifecycle.change_state(None, made, "open")


@pytest.mark.django_db
@pytest.mark.usefixtures("pseudo_locale")
@pytest.mark.parametrize("kind", TASKS)
def test_pages_of_task_types_are_translated(kind: str, tmp_path: Path) -> None:
    campaign = translated(f"{kind}-campaign", tmp_path)
    worker = Worker(campaign)
    if TASKS[kind].needs_image:
        set_warning(None, campaign, campaign.images.latest("pk").name, "blood")
    work = worker.agree()
    assert "⟦" in work
    for held in worker.held:
        shown = TASKS[kind].shown(held.item.payload, mirrored=held.mirrored)
        worker.do(f"{held.lease}/answer/", **answer_to(kind, shown))
    skipped = next(worker.held)
    worker.do(f"{skipped.lease}/aside/", reason="")
    worker.see()
    worker.see("leave/")
    worker.do("leave/")
    worker.do("leave/", sure="yes")


@pytest.mark.django_db
@pytest.mark.usefixtures("pseudo_locale")
def test_pages_of_writers_are_translated(tmp_path: Path) -> None:
    campaign = translated("write-campaign", tmp_path)
    worker = Worker(campaign)
    worker.do("agree/", texts="7")
    worker.agree()
    worker.see("rules/")
    worker.do("warnings/", avoid="on")
    worker.do("warnings/")
    held = next(worker.held)
    place = f"{worker.place}{held.lease}"
    for caption in ("", "Hi", "x" * 501, "There is a\u202e dog, www.example.org is in the picture"):
        worker.do(f"{held.lease}/answer/", caption=caption)
        refused = worker.client.post(f"{place}/answer/", {"caption": caption}, **SCRIPT).json()
        details = [refused["detail"], *(each["message"] for each in refused.get("findings", ()))]
        assert [word for text in details for word in find_untranslated_text(text)] == []
    worker.do(f"{held.lease}/answer/", clean="1", caption="A\u202e dog")
    worker.do(f"{held.lease}/aside/", reason="", note="x" * 501)
    worker.do(f"{held.lease}/aside/", reason="other")
    worker.do(f"{held.lease}/aside/", reason="")
    for state in ("paused", "closing"):
        lifecycle.change_state(None, campaign, state)
        worker.see()


@pytest.mark.django_db
@pytest.mark.usefixtures("pseudo_locale")
def test_pages_without_work_are_translated(tmp_path: Path) -> None:
    campaign = translated("triplet-campaign", tmp_path)
    worker = Worker(campaign)
    for stage in ("paused", "screened out", "blocked", "withdrew"):
        Participation.objects.update(stage=stage)
        worker.see()


@pytest.mark.django_db
@pytest.mark.usefixtures("pseudo_locale")
@pytest.mark.parametrize("choice", ["left", "right"])
def test_pages_of_the_training_are_translated(choice: str, tmp_path: Path) -> None:
    worker = Worker(translated(TRAINED, tmp_path))
    worker.agree()
    result = worker.do(f"{next(worker.held).lease}/answer/", choice=choice)
    assert "There is no wave." in result
    worker.do("training/")


@pytest.mark.django_db
@pytest.mark.usefixtures("pseudo_locale")
@pytest.mark.parametrize("passes", [True, False])
def test_pages_of_the_training_of_writers_are_translated(tmp_path: Path, *, passes: bool) -> None:
    path = campaign_files("write-campaign", tmp_path / "write")
    quiz = 'quiz = "write-coco"\n\n[settings]\ntraining_items = 2\ntraining_right = 2\ntraining_tries = 1'
    path.write_text(path.read_text().replace("[settings]", quiz))
    lesson = {
        "key": "lesson",
        "image": "1.png",
        "training": True,
        "expected": {"caption": "A dog runs on grass."},
    }
    with (path.parent / "items.jsonl").open("a") as file:
        file.write(json.dumps(lesson))
    worker = Worker(open_translated(path))
    worker.agree()
    for held in list(worker.held):
        right = held.item.expected["choice"]
        choice = right if passes else {"breaks": "keeps", "keeps": "breaks"}[right]
        result = worker.do(f"{held.lease}/answer/", choice=choice)
    assert result.count('<p class="sentence"') == 2
    worker.do("training/")
    if not passes:
        return
    (practice,) = worker.held
    result = worker.do(f"{practice.lease}/answer/", caption="A small dog was on the green grass, it is said")
    assert '<ul class="findings">' in result
    assert "A dog runs on grass." in result
    worker.do("training/")
    assert not any(held.item.is_training for held in worker.held)


@pytest.mark.django_db
@pytest.mark.usefixtures("pseudo_locale")
@pytest.mark.parametrize("redirect", ["", "https://panel.example/?code={code}"])
@pytest.mark.parametrize("outcome", ["no_consent", "unsuitable", "returned"])
def test_pages_of_panel_workers_are_translated(outcome: str, redirect: str, tmp_path: Path) -> None:
    campaign = translated("pairwise-campaign", tmp_path)
    set_panel(None, campaign, {"name": "panel", "redirect": redirect, "answers": 5})
    worker = Worker(campaign, "?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=e1")
    if outcome == "returned":
        worker.agree()
        worker.do("finish/", outcome="no_consent")
        worker.do("finish/", outcome="nothing_left")
    worker.do("finish/", outcome=outcome)
    for other in Session.Outcome.values:
        Session.objects.update(outcome=other)
        worker.see()
    Worker(campaign, "?PROLIFIC_PID={}")


# Texts in German


def test_texts_of_the_script_have_plural_forms() -> None:
    with translation.override("de"):
        words = list_script_texts()["words"]
    assert words["forms"] == ["{number} Wörter", "{number} Wort"]
    assert (words["indexes"][1], sum(words["indexes"]), len(words["indexes"])) == (1, 1, 200)


def test_messages_of_rules_are_filled_in() -> None:
    with translation.override("de"):
        (found,) = check_captions(["A man said “hello” and it will rain in Xqzw"])
        (few,) = check_captions(["a dog"])
    assert all("{" not in each.message for each in found)
    assert [each.message for each in few] == ["Der Satz muss mindestens 3 Wörter haben (er hat 2)."]
