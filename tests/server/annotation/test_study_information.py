"""Information about a study that a campaign needs to open, and that workers read before they agree."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers import enrollment
from capeval_server.core.errors import CampaignError
from tests.server.annotation.test_api import user_program
from tests.server.annotation.test_campaign_commands import refused, run
from tests.server.campaigns import STUDY, make
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

NOTHING: dict[str, Any] = dict.fromkeys(STUDY, "")
ALL = "who runs the study (run_by), the contact (contact), the license of the answers (license), the pay"


def consent_page(campaign: Campaign) -> str:
    """The page on which a new worker agrees."""
    (token,) = enrollment.invite(None, campaign, 1)
    answer = Client().get(f"/annotate/{campaign.slug}/enter/{token}/", follow=True)
    page = answer.content.decode()
    check_page(page, answer.headers["Content-Security-Policy"])
    return html.unescape(page)


@pytest.mark.parametrize("state", ["pilot", "open"])
def test_a_campaign_without_information_cannot_open(state: str) -> None:
    campaign = make(state="draft", **NOTHING)
    with pytest.raises(CampaignError, match="cannot open without information for its workers") as error:
        lifecycle.change_state(None, campaign, state)
    assert ALL in str(error.value)
    changes: dict[str, Any] = {**STUDY, "pay_terms": ""}
    campaign = lifecycle.set_quality(None, campaign, changes)
    with pytest.raises(CampaignError, match=r"workers: the pay \(pay_terms or pay_per_answer\);"):
        lifecycle.change_state(None, campaign, state)
    campaign.settings |= {"pay_per_answer": "0.12", "currency": "EUR"}
    campaign.save()
    assert lifecycle.change_state(None, campaign, state).state == state


def test_a_campaign_of_an_earlier_version_continues() -> None:
    campaign = make(state="open")
    campaign.settings = {name: value for name, value in campaign.settings.items() if name not in STUDY}
    campaign.save()
    campaign = lifecycle.change_state(None, campaign, "paused")
    assert lifecycle.change_state(None, campaign, "open").state == "open"
    assert "Who runs this study" not in consent_page(campaign)


def test_by_page_api_and_command() -> None:
    staff, program = Someone("staff", is_staff=True), user_program("staff")
    campaign = make(state="draft", **NOTHING)
    place = f"/campaigns/{campaign.slug}/"
    staff.do(f"{place}state/", state="open")
    page = staff.see(place)
    assert ALL in page
    assert f'href="{place}quality/#id_run_by"' in page
    sent = program.ask("PUT", f"campaigns/{campaign.slug}/state", {"state": "open"}, 422)
    assert ALL in sent["detail"]
    assert ALL in refused("state", campaign.slug, "open")
    assert "must be an email address or a URL (got 'us')" in refused("quality", campaign.slug, "contact=us")
    wrong = program.ask("PUT", f"campaigns/{campaign.slug}/quality", {"contact": "us"}, 422)
    assert "must be an email address or a URL (got 'us')" in wrong["detail"]
    run("quality", campaign.slug, *(f"{name}={value}" for name, value in STUDY.items()))
    assert f"The contact is {STUDY['contact']}." in staff.see(place)
    program.ask("PUT", f"campaigns/{campaign.slug}/state", {"state": "open"})


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("en", ("Who runs this study", "Contact", "Pay", "License of your answers", "0.12 EUR per answer.")),
        ("de", ("Verantwortlich", "Kontakt", "Bezahlung", "Lizenz Ihrer", "0.12 EUR pro Antwort.")),
    ],
)
def test_workers_read_the_information_before_they_agree(language: str, labels: tuple[str, ...]) -> None:
    campaign = make(language=language, **{**STUDY, "pay_per_answer": "0.12", "currency": "EUR"})
    page = consent_page(campaign)
    for text in (*labels, *STUDY.values()):
        assert text in page
    assert '<a href="mailto:lab@example.org">' in page


def test_a_new_campaign_starts_with_the_information_of_the_last(client: Client) -> None:
    staff = Someone("staff", is_staff=True)
    campaign = make(state="draft", **{**STUDY, "run_by": "Vision & Language Lab"})
    place = "/new/campaign/from/write-coco/"
    form = staff.see(place)
    assert "Vision &amp; Language Lab" not in form
    # The form can be saved without them, but the campaign does not open then.
    for name, label in {
        "contact": "required to open",
        "pay_terms": "required to open without a pay per answer",
    }.items():
        assert re.search(rf'for="id_{name}">[^<]*<span class="optional">{label}<', form)
    campaign.organizers.add(staff.user)
    assert 'value="Vision &amp; Language Lab"' in staff.see(place)


def test_programs_read_the_information() -> None:
    campaign = make()
    (token,) = enrollment.invite(None, campaign, 1)
    sent = Client(headers={"Authorization": f"Bearer {token}"}).get(f"/api/annotate/{campaign.slug}")
    assert sent.json()["study"] == {**STUDY, "pay_per_answer": "", "currency": ""}
