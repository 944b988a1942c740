"""Alerts to the managers of campaigns that are paused, stuck or complete, by mail and webhook."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User

from capeval_server.annotation.campaigns import alerts, lifecycle
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.review import moderation
from capeval_server.challenges.models import Challenge
from capeval_server.jobs import leases, worker
from capeval_server.jobs.models import Job
from capeval_server.notifications.models import CampaignTold, Delivery, Mail, Preferences, Webhook
from tests.server.annotation.test_api import user_program
from tests.server.annotation.test_campaign_commands import refused, run
from tests.server.campaigns import answer, hold, join, make
from tests.server.kit import Someone

pytestmark = pytest.mark.django_db


def manager(name: str) -> User:
    user = Someone(name).user
    EmailAddress.objects.create(user=user, email=f"{name}@example.org", primary=True, verified=True)
    return user


@pytest.fixture
def campaign(challenge: Challenge) -> Campaign:
    """An open campaign of a challenge with a webhook, an organizer and a manager of the campaign."""
    made = make(items=1, answers=2)
    Campaign.objects.filter(pk=made.pk).update(challenge=challenge)
    made.refresh_from_db()
    challenge.organizers.add(manager("olga"))
    made.organizers.add(User.objects.get(username="olga"), manager("owner"))
    Webhook.objects.create(challenge=challenge, url="https://hooks.example.org/")
    return made


def sent() -> list[tuple[str, str]]:
    """Run the job, and return the recipients and subjects of the mail that it queued."""
    Mail.objects.all().delete()
    if not Job.objects.filter(kind="campaigns").exists():
        leases.enqueue(Job(kind="campaigns", subject="server"))
    Job.objects.exclude(kind="campaigns").delete()
    Job.objects.update(available_from=None)
    assert worker.work_once()
    return list(Mail.objects.order_by("user__username").values_list("user__username", "subject"))


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two hours pass."""
    now = leases.database_time() + timedelta(hours=2)
    monkeypatch.setattr(alerts, "database_time", lambda: now)


def events() -> list[Any]:
    found = [json.loads(body) for body in Delivery.objects.order_by("pk").values_list("body", flat=True)]
    return [(one["event"], one["campaign"]) for one in found]


def test_a_campaign_without_a_challenge_has_its_own_webhooks(settings: Any) -> None:
    settings.WEBHOOK_HOSTS = ("hooks.example.org",)
    program, made, other = user_program("staff", is_staff=True), make(items=1), make(items=1)
    place, url = f"campaigns/{made.slug}/webhooks", "https://hooks.example.org/alerts"
    assert "'url'" in program.ask("POST", place, {"url": "https://elsewhere.example.org/"}, 422)["detail"]
    hook = program.ask("POST", place, {"url": url}, 201)
    assert len(hook["secret"]) > 30
    assert "already has a webhook" in program.ask("POST", place, {"url": url}, 422)["detail"]
    assert [each["url"] for each in program.ask("GET", place)["webhooks"]] == [url]
    assert run("webhook", made.slug) == [url]
    assert run("webhook", other.slug) == []
    for campaign in (made, other):
        lifecycle.change_state(None, campaign, "paused")
    sent()
    (event,) = [json.loads(body) for body in Delivery.objects.values_list("body", flat=True)]
    assert (event["event"], event["challenge"], event["campaign"]["name"]) == (
        "campaign.paused",
        None,
        made.slug,
    )
    user_program("other").ask("DELETE", f"{place}/{hook['id']}", status=404)
    program.ask("DELETE", f"{place}/{hook['id']}", status=204)
    assert run("webhook", made.slug, url)[0].startswith(f"{made.slug}: added the webhook {url}; secret: ")
    assert run("webhook", made.slug, url, "--remove") == [f"{made.slug}: removed the webhook {url}"]
    assert "must be a webhook of" in refused("webhook", made.slug, url, "--remove")
    assert not Delivery.objects.exists()


def test_a_deleted_draft_leaves_no_webhook(settings: Any) -> None:
    settings.WEBHOOK_HOSTS = ("hooks.example.org",)
    draft = make(items=1, state="draft")
    run("webhook", draft.slug, "https://hooks.example.org/")
    run("delete", draft.slug)
    assert not Webhook.objects.exists()


def test_a_pause_alerts_each_manager_once(campaign: Campaign) -> None:
    assert sent() == []
    lifecycle.change_state(None, campaign, "paused")
    subject = f"{campaign.title}: the campaign is paused"
    assert sent() == [("olga", subject), ("owner", subject)]
    text = Mail.objects.first().text  # type: ignore[union-attr]
    assert "no items are assigned until you select Resume. Finished items: 0 of 1." in text
    assert text.endswith(f"/campaigns/{campaign.slug}/")
    ((event, about),) = events()
    assert event == "campaign.paused"
    assert (about["name"], about["state"], about["items"], about["finished"]) == (
        campaign.slug,
        "paused",
        1,
        0,
    )
    assert about["url"] in text
    assert sent() == []
    lifecycle.change_state(None, campaign, "open")
    assert sent() == []
    lifecycle.change_state(None, campaign, "paused")
    assert len(sent()) == 2
    assert len(events()) == 2
    assert CampaignTold.objects.get().condition == "paused"


def test_preferences_apply_to_mail_only(campaign: Campaign) -> None:
    Preferences.objects.create(user=User.objects.get(username="olga"), campaigns=False)
    lifecycle.change_state(None, campaign, "paused")
    assert [user for user, _ in sent()] == ["owner"]
    assert len(events()) == 1


def test_a_campaign_is_stuck_after_an_hour(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    (worker,) = join(campaign)
    held = hold(worker)
    with monkeypatch.context() as patched:
        later(patched)
        # Nothing was answered yet, and an item is held.
        assert sent() == []
    answer(held)
    assert sent() == []
    later(monkeypatch)
    assert [subject for _, subject in sent()] == [f"{campaign.title}: the campaign is stuck"] * 2
    text = Mail.objects.first().text  # type: ignore[union-attr]
    assert text.startswith(
        "No answers have arrived for an hour. Finished items: 0 of 1.\n\n- Items that need"
    )
    ((event, about),) = events()
    assert event == "campaign.stuck"
    assert about["waiting"][0].startswith("Items that need answers from more workers: 1")
    assert sent() == []
    join(campaign)
    # Another worker can be assigned the item.
    assert sent() == []
    assert CampaignTold.objects.get().condition == ""


def test_an_abandoned_item_does_not_delay_the_alert(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = join(campaign, 2)
    answer(hold(first))
    hold(second)
    assert sent() == []
    moderation.block(None, second, "spam")
    later(monkeypatch)
    assert [subject for _, subject in sent()] == [f"{campaign.title}: the campaign is stuck"] * 2


def test_a_complete_campaign(campaign: Campaign) -> None:
    for one in join(campaign, 2):
        answer(hold(one))
    assert [subject for _, subject in sent()] == [f"{campaign.title}: the campaign is complete"] * 2
    assert events()[0][1]["finished"] == 1
    assert sent() == []
    lifecycle.set_answers(None, campaign, 3)
    assert sent() == []
    lifecycle.set_answers(None, campaign, 2)
    assert len(sent()) == 2
    lifecycle.change_state(None, campaign, "closed")
    assert sent() == []


def test_campaigns_without_challenge_and_drafts(challenge: Challenge) -> None:
    draft, own = make(state="draft"), make(items=1)
    for one in (draft, own):
        one.organizers.add(User.objects.filter(username="olga").first() or manager("olga"))
    Webhook.objects.create(challenge=challenge, url="https://hooks.example.org/")
    lifecycle.change_state(None, own, "paused")
    assert [user for user, _ in sent()] == ["olga"]
    assert not Delivery.objects.exists()
