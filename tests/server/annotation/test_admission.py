"""Admission to a campaign: everybody, invited people, or only the workers of a panel."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.models import Campaign, Participation, Session
from capeval_server.annotation.workers import enrollment, panels
from capeval_server.audit.models import Action
from capeval_server.core.errors import AssignmentError, CampaignError
from tests.server.annotation.test_api import Program, user_program
from tests.server.annotation.test_panels import ids, panel
from tests.server.campaigns import answer, hold, make
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

INVITED = "this campaign is only for people with an invite link"
PANEL = "this campaign is only for workers of its panel: please start from the panel's page"


def open_to(campaign: Campaign, who: str) -> None:
    lifecycle.set_quality(None, campaign, {"open_to": who})
    campaign.refresh_from_db()


def test_only_a_panel_enters_and_all_who_work_continue() -> None:
    campaign = make(answers=5, items=4)
    panel(campaign, answers=2)
    place = f"/annotate/{campaign.slug}/"
    used, unused = enrollment.invite(None, campaign, 2)
    settled = [Someone("ann").client, Client()]
    settled[1].get(f"{place}enter/{used}/")
    for client in settled:
        client.post(f"{place}agree/", {"texts": "1"})
    late = Someone("late").client
    assert "I agree" in late.get(place).content.decode()
    organizer = Someone("organizer")
    campaign.organizers.add(organizer.user)
    recruiting = f"/campaigns/{campaign.slug}/recruiting/"
    assert "Everybody with an account or a link may take part." in organizer.see(recruiting)
    quality = f"/campaigns/{campaign.slug}/quality/"
    given = {field.html_name: field.value() for field in organizer.client.get(quality).context["form"]}
    organizer.do(quality, 302, **{**given, "open_to": "panel"})

    sent = organizer.client.get(recruiting)
    text = sent.content.decode()
    check_page(text, sent.headers["Content-Security-Policy"])
    assert "Only workers of the panel may take part" in text
    assert f'href="{quality}#id_open_to"' in text
    for client in settled:
        assert 'id="work"' in client.get(place).content.decode()
    newcomer = Client()
    refused = [
        Someone("bob").client.get(place),
        late.get(place),
        late.post(f"{place}agree/", {"texts": "1"}),
        newcomer.get(f"{place}enter/{unused}/"),
    ]
    for page in refused:
        assert page.status_code == 409
        assert PANEL.replace("'", "&#x27;") in page.content.decode()
    assert not newcomer.cookies
    worker = Client()
    worker.get(f"{place}enter/", ids("eve"))
    worker.post(f"{place}agree/", {"texts": "1"})
    assert 'id="work"' in worker.get(place).content.decode()
    # Nobody else was added.
    assert campaign.participations.count() == 5
    open_to(campaign, "everybody")
    assert "I agree" in late.get(place).content.decode()


def test_invited_people_enter_and_others_learn_why_they_do_not() -> None:
    campaign = make(answers=5, items=4, open_to="invited")
    panel(campaign)
    place = f"annotate/{campaign.slug}"
    (token,) = enrollment.invite(None, campaign, 1)
    assert Action.objects.filter(what__startswith="created 1 invite link for").exists()
    assert Program(token).ask("GET", place)["stage"] == "invited"
    assert user_program("ann").ask("GET", place, status=409)["detail"] == INVITED
    refused = Program("").ask("POST", f"{place}/enter", {"parameters": ids()}, 409)
    assert refused["detail"] == INVITED
    assert not Session.objects.exists()
    assert campaign.participations.count() == 1


def test_a_visitor_before_the_change_can_use_a_link() -> None:
    campaign = make(answers=5, items=4)
    visitor = Someone("ann")
    (token,) = enrollment.invite(None, campaign, 1)
    enrollment.enter_as_user(visitor.user, campaign)
    open_to(campaign, "invited")
    place = f"/annotate/{campaign.slug}/"
    assert visitor.client.get(f"{place}enter/{token}/").status_code == 302
    assert "I agree" in visitor.client.get(place).content.decode()


@pytest.mark.parametrize("stage", [one for one in Participation.Stage.values if one != "invited"])
def test_every_later_stage_stays_admitted(stage: str) -> None:
    campaign = make(answers=5)
    found = enrollment.enter_as_user(Someone("ann").user, campaign)
    Participation.objects.update(stage=stage)
    open_to(campaign, "panel")
    assert enrollment.enter_as_user(found.worker.user, campaign) == found  # type: ignore[arg-type]


def test_panel_workers_are_refused_once_only_invited_people_may_enter() -> None:
    campaign = make(answers=5, items=4)
    panel(campaign, answers=2)
    working = panels.token_of(enrollment.agree(panels.enter(campaign, ids("ann")), 1))
    waiting = panels.token_of(panels.enter(campaign, ids("bob")))
    open_to(campaign, "invited")
    answer(hold(panels.get_entered(campaign, working)))
    # Their next sessions are of the same worker.
    assert panels.enter(campaign, ids("ann", session="s2")).answered == 1
    with pytest.raises(AssignmentError, match=INVITED):
        panels.get_entered(campaign, waiting)
    with pytest.raises(AssignmentError, match=INVITED):
        panels.enter(campaign, ids("bob"))


def test_links_that_nobody_could_use_are_not_created() -> None:
    campaign, other = make(answers=5, open_to="panel"), make(answers=5)
    message = f"the campaign {campaign.slug} is only open to its panel"
    with pytest.raises(CampaignError, match=message):
        enrollment.invite_to_all(None, [other, campaign], 1)
    assert not Participation.objects.exists()
    staff = user_program("staff", is_staff=True)
    assert message in staff.ask("POST", f"campaigns/{campaign.slug}/invites", {}, 422)["detail"]
    organizer = Someone("organizer")
    campaign.organizers.add(organizer.user)
    sent: Any = organizer.client.post(reverse("campaign_invite", args=(campaign.slug,)), {"number": "1"})
    assert sent.status_code == 422
    assert message in sent.content.decode()


def test_the_setting_is_described() -> None:
    organizer = Someone("organizer")
    for who, sentence in (
        ("everybody", "Everybody with an account or a link may take part."),
        ("invited", "Only people with an invite link may take part."),
        ("panel", "Only workers of the panel may take part."),
    ):
        campaign = make(answers=1, open_to=who)
        campaign.organizers.add(organizer.user)
        assert sentence in organizer.see(f"/campaigns/{campaign.slug}/")
