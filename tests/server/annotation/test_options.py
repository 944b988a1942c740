"""One declaration of an option makes its fields, help, API schema, summary and documentation.

`AskedOptions` adds a toy option as `CampaignOptions` declares its own. Nothing else in the server knows it.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Annotated, Any

import pytest
from ninja import Schema
from pydantic import Field

from capeval.studies.votes import LEVELS
from capeval_server.annotation.core import options
from capeval_server.annotation.core.option_texts import render_sentence
from capeval_server.annotation.core.options import QUALITY_SETTINGS, CampaignOptions
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.api.annotation_settings import with_quality_settings
from tests.server.kit import Someone
from tests.server.pages import check_page
from tests.server.web.test_campaign_pages import created, new_form

DIRECTIVES = Path(__file__).parents[3] / "docs" / "directives.py"
NAMES = list(CampaignOptions.model_fields)


class AskedOptions(CampaignOptions):
    break_minutes: Annotated[int, Field(ge=0, le=60)] = options._CHECKS.option(
        "Break after a batch (minutes)", 7, "A worker has a break of {break_minutes:minute} after a batch."
    )
    """A worker gets the next batch only after this time. 0 turns breaks off."""


def documentation() -> ModuleType:
    """Return the directives of the site."""
    spec = importlib.util.spec_from_file_location("documentation_directives", DIRECTIVES)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> type[CampaignOptions]:
    """Declare the toy option: all modules of the server have it instead of `CampaignOptions`."""
    names = (*QUALITY_SETTINGS, "break_minutes")
    for module in [each for name, each in sys.modules.items() if name.startswith("capeval_server.")]:
        if getattr(module, "CampaignOptions", None) is CampaignOptions:
            monkeypatch.setattr(module, "CampaignOptions", AskedOptions)
        if getattr(module, "QUALITY_SETTINGS", None) is QUALITY_SETTINGS:
            monkeypatch.setattr(module, "QUALITY_SETTINGS", names)
    return AskedOptions


def text_of(page: str) -> str:
    """Return the text of a page, without its markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).replace("&#x27;", "'").split())


# A new option


@pytest.mark.django_db
def test_one_declaration_makes_the_pages_and_is_stored(asked: type[CampaignOptions]) -> None:
    staff = Someone("staff", is_staff=True)
    sent = staff.client.get("/new/campaign/from/write-coco/")
    page = sent.content.decode()
    check_page(page, sent.headers["Content-Security-Policy"])
    (field,) = re.findall(r'<input[^>]*name="break_minutes"[^>]*>', page)
    for part in ('type="number"', 'value="7"', 'min="0"', 'max="60"'):
        assert part in field
    label = "Break after a batch (minutes)"
    helptext = "A worker gets the next batch only after this time. 0 turns breaks off."
    assert label in text_of(page)
    assert helptext in text_of(page)
    form = new_form("breaks", pictures=1, break_minutes=61)
    refused = staff.do("/new/campaign/from/write-coco/", 422, **form).content.decode()
    assert "less than or equal to 60" in refused

    form = new_form("breaks", pictures=1, break_minutes=9)
    preview = staff.do("/new/campaign/from/write-coco/", 200, **form).content.decode()
    assert "A worker has a break of 9 minutes after a batch." in preview
    made = created(staff, new_form("breaks", pictures=1, break_minutes=9))
    assert made.settings["break_minutes"] == 9
    assert "A worker has a break of 9 minutes after a batch." in staff.see("/campaigns/breaks/")

    page = staff.see("/campaigns/breaks/quality/")
    assert label in text_of(page)
    assert helptext in text_of(page)
    settings = {name: made.settings[name] for name in (*QUALITY_SETTINGS, "break_minutes")}
    staff.do("/campaigns/breaks/quality/", 302, **{**settings, "break_minutes": 1})
    assert "break_minutes from 9 to 1" in staff.see("/campaigns/breaks/quality/")
    assert "A worker has a break of 1 minute after a batch." in staff.see("/campaigns/breaks/")
    Campaign.objects.update(settings=made.settings | {"break_minutes": 0})
    assert "break of" not in staff.see("/campaigns/breaks/")


def test_one_declaration_makes_the_schema_of_the_api(asked: type[CampaignOptions]) -> None:
    @with_quality_settings
    class BreakSettings(Schema):
        pass

    known = BreakSettings.model_json_schema()["properties"]
    assert set(known) == {*QUALITY_SETTINGS, "break_minutes"}
    assert known["break_minutes"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "default": None,
        "title": "Break after a batch (minutes)",
        "description": "A worker gets the next batch only after this time. 0 turns breaks off.",
    }


def test_one_declaration_makes_the_documentation(asked: type[CampaignOptions]) -> None:
    rows = documentation().options_tables().splitlines()
    meaning = (
        "**Break after a batch (minutes)**. A worker gets the next batch only after this time."
        " 0 turns breaks off. Quality setting."
    )
    assert f"| `break_minutes` | {meaning} | 0 to 60 | `7` |" in rows
    assert "```{campaign-options}\n```" in (DIRECTIVES.parent / "server" / "annotation.md").read_text()


# All options


@pytest.mark.parametrize("name", NAMES)
def test_each_option_is_described(name: str) -> None:
    about = CampaignOptions.described()[name]
    assert 3 < len(about["title"]) <= 60
    assert about["description"].endswith(".")
    assert about["group"] in {group.title for group in options._GROUPS}
    # Its own sentence, or that of another option of the same group, has its value.
    templates = sentences(about) or [
        template
        for other in CampaignOptions.described().values()
        if other["group"] == about["group"]
        for template in sentences(other)
        if name in fields_of(template)
    ]
    assert templates
    for template in templates:
        assert fields_of(template) <= set(NAMES)
        assert template.endswith(".")
    assert any(name in CampaignOptions.described(task) for task in TASKS.values())


def test_each_option_is_in_the_documentation() -> None:
    tables = documentation().options_tables()
    for name, about in CampaignOptions.described().items():
        assert f"| `{name}` | **{about['title']}**. {about['description']}" in tables
    assert "| 30 to 86400 | `180`; `write`: `600` |" in tables
    assert "| `trusted`, `everybody` |" in tables


def sentences(about: dict[str, Any]) -> list[str]:
    sentence = about["sentence"]
    found = list(sentence.values()) if isinstance(sentence, dict) else [sentence]
    return [template for template in (*found, about["off"]) if template]


def fields_of(template: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(template) if field}


@pytest.mark.parametrize("kind", list(TASKS))
def test_sentences_say_what_each_value_does(kind: str) -> None:
    task = task_named(kind)
    defaults = CampaignOptions.of_kind(kind).model_dump()
    for name, about in CampaignOptions.described(task).items():
        for value in (
            {about.get("minimum", 0), 1, about.get("maximum", 1)} if "enum" not in about else about["enum"]
        ):
            said = render_sentence(name, about, {**defaults, name: value})
            assert not re.search(r"[{}]|\b1 (?!is\b)\w+s\b|\bNone\b", said), said
            assert bool(said) == bool(sentences(about) if value else about["off"]), (name, value)


def test_only_options_with_an_effect_are_asked_for() -> None:
    def without(kind: str) -> set[str]:
        return set(NAMES) - set(CampaignOptions.described(task_named(kind)))

    reviews = {"review_first", "review_every"}
    comparing = {"curtail", "confidence", "confidence_votes", "next_pairs", "next_pairs_floor"}
    assert without("pairwise") == without("triplet") == reviews
    assert without("m1") == without("m5") == reviews | comparing
    assert without("m2") == reviews | comparing | {"repeat_every"}
    assert without("write") == comparing | {"repeat_every"}


def test_texts_name_the_bounds_of_confidence() -> None:
    described = CampaignOptions.described()["confidence"]
    assert f"The minimum is {LEVELS[0]:g}" in described["description"]
    assert described["maximum"] == LEVELS[1]


def test_settings_that_can_change_while_a_campaign_is_open() -> None:
    fixed = {"batch", "confidence", "curtail", "lease_seconds", "next_pairs", "seed", "training_items"}
    assert not fixed & set(QUALITY_SETTINGS)
    assert {"check_every", "pause_failed", "repeat_every", "review_every", "trust_share"} < set(
        QUALITY_SETTINGS
    )
