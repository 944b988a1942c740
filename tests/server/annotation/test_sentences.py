"""Text rules in campaigns: the result of the server is decisive, not the one of a page or program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.models import Assignment, Campaign, Draft, Response, ReviewRequest, TextVersion
from capeval_server.annotation.responses import submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.text_rules import rules
from capeval_server.annotation.text_rules.rules import RULES
from capeval_server.annotation.workers import enrollment
from capeval_server.audit.models import Action
from capeval_server.core.errors import CampaignError, SentenceError
from tests.server.annotation.test_api import Program, user_program
from tests.server.annotation.test_pages import enter, picture, write_campaign
from tests.server.campaigns import answer, given, hold, join, make
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
FINE = "a brown dog runs over the green grass"
SHORT = "a dog on green grass"
BLOCKED = "There is a brown dog on the green grass"
HINTED = "a brown dog runs over the green gras"


@pytest.fixture
def campaign() -> Campaign:
    """A campaign with the rules' own levels."""
    made = make("write", items=5, answers=2)
    lifecycle.set_rules(None, made, {})
    return made


def send(held: Assignment, text: str, reasons: dict[str, str] | None = None, revision: int = 1) -> Response:
    sent = given({"caption": text}, revision=revision)
    sent = submit.SubmittedAnswer(
        answer=sent.answer, revision=sent.revision, key=sent.key, events={}, reasons=reasons or {}
    )
    return submit.submit(held, sent).response


def test_a_blocked_sentence_is_refused_and_nothing_is_stored(campaign: Campaign) -> None:
    held = hold(join(campaign)[0])
    with pytest.raises(SentenceError, match="do not start with 'There is'") as raised:
        send(held, BLOCKED, {"there-is": "because"})
    assert [finding["rule"] for finding in raised.value.findings] == ["there-is"]
    held.refresh_from_db()
    assert held.state == "held"
    assert not Response.objects.exists()
    assert send(held, FINE).rules == {"version": rules.VERSION, "findings": []}


def test_a_sentence_is_kept_with_a_reason_and_goes_to_review(campaign: Campaign) -> None:
    held = hold(join(campaign)[0])
    with pytest.raises(
        SentenceError, match=r"at least 8 words \(it has 5\)\. To keep it anyway, give a reason$"
    ):
        send(held, SHORT, {"language": "a reason for another rule"})
    kept = send(held, SHORT, {"short": "nothing else is there"})
    assert kept.rules == {
        "version": rules.VERSION,
        "findings": [{"rule": "short", "level": "confirm", "reason": "nothing else is there"}],
    }
    assert kept.texts.number == 2
    assert [request.reason for request in ReviewRequest.objects.all()] == [submit.KEPT]
    assert list(moderation.list_review_queue(campaign)) == [kept]
    # A revision that needs no reason is looked at because of what it replaces.
    assert list(moderation.list_review_queue(campaign)) != [send(held, FINE, revision=2)]
    assert moderation.list_review_queue(campaign).get().rules["findings"] == []


def test_a_hint_is_stored_and_asks_nothing(campaign: Campaign) -> None:
    stored = send(hold(join(campaign)[0]), HINTED)
    assert stored.rules["findings"] == [{"rule": "unknown-words", "level": "hint"}]
    assert not ReviewRequest.objects.exists()


@pytest.mark.parametrize("level", rules.LEVELS)
@pytest.mark.parametrize("rule", sorted(set(RULES) - {"empty", "too-long"}))
def test_each_level_of_each_rule(rule: str, level: str) -> None:
    """Each rule reports its matches at the level that the campaign sets."""
    from tests.server.annotation.test_rules import CASES

    text = "a stinking dog" if rule == "blocklist" else next(t for t, found in CASES if rule in found)
    campaign = make("write", items=1, answers=1)
    others = dict.fromkeys(set(RULES) - {rule}, "off")
    lifecycle.set_rules(None, campaign, {**others, rule: level, "blocked_words": ["stinking"]})
    held = hold(join(campaign)[0])
    if level == "block":
        with pytest.raises(SentenceError):
            send(held, text, {rule: "because"})
        return
    stored = send(held, text, {rule: "because"} if level == "confirm" else {})
    finding = {"rule": rule, "level": level, **({"reason": "because"} if level == "confirm" else {})}
    assert stored.rules["findings"] == ([] if level == "off" else [finding])


def test_rules_change_as_a_new_version_which_each_answer_knows(campaign: Campaign) -> None:
    first, second = join(campaign, 2)
    before = send(hold(first), FINE)
    changed = lifecycle.set_rules(None, campaign, {"there-is": "hint", "blocked_words": ["Stinking"]})
    assert (before.texts.number, changed.number) == (2, 3)
    assert send(hold(second), BLOCKED).texts == changed
    assert lifecycle.set_rules(None, campaign, {"there-is": "hint", "blocked_words": ["Stinking"]}) == changed
    with pytest.raises(SentenceError, match="leave out 'stinking'"):
        send(hold(second), "a stinking brown dog runs over the green grass")
    assert Action.objects.filter(what__contains="changed the caption rules").count() == 2
    with pytest.raises(CampaignError, match="that collects captions"):
        lifecycle.set_rules(None, make(), {"short": "off"})
    for wrong, message in (
        ({"rude": "block"}, "unknown rule 'rude'"),
        ({"short": "stop"}, "the level of 'short' must be one of off"),
        ({"short": ["stop"]}, "the level of 'short' must be one of off"),
        ({"blocked_words": "a"}, "'blocked_words' must be a list"),
        ({"known_words": [""]}, "'known_words' must be a list"),
    ):
        with pytest.raises(CampaignError, match=re.escape(message)):
            lifecycle.set_rules(None, campaign, wrong)


def test_keywords_and_the_campaign_s_words_are_no_slips() -> None:
    campaign = make("write", items=1, answers=1)
    lifecycle.set_rules(None, campaign, {"known_words": ["Capybara gras"]})
    text = "a capybara and a cart stand on the green gras"
    assert send(hold(join(campaign)[0]), text).rules["findings"] == []


def test_other_kinds_have_no_rules() -> None:
    assert answer(hold(join(make(answers=1))[0])).response.rules == {}


def test_the_file_of_a_campaign_has_levels(tmp_path: Path) -> None:
    path = write_campaign(tmp_path, {"a.jpg": picture()})
    made = make_campaign(None, path)
    assert made.texts.get().rules == {"short": "off"}
    text = path.read_text().replace("streets", "other")
    path.write_text(text.replace('short = "off"', 'short = "never"'))
    with pytest.raises(CampaignError, match="the level of 'short' must be one of"):
        make_campaign(None, path)
    assert TextVersion.objects.count() == 1


def begun(campaign: Campaign) -> tuple[Client, str]:
    client = enter(campaign)
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": str(enrollment.latest_texts(campaign).number)})
    client.get(f"/annotate/{campaign.slug}/")
    held = Assignment.objects.order_by("place")[0]
    return client, f"/annotate/{campaign.slug}/{held.lease}"


def test_without_a_script_the_page_comes_again_with_the_text(campaign: Campaign) -> None:
    client, place = begun(campaign)
    refused = client.post(f"{place}/answer/", {"caption": BLOCKED}, follow=True).content.decode()
    assert "Not stored: Please do not start with &#x27;There is&#x27;" in refused
    assert f">{BLOCKED}</textarea>" in refused
    assert Draft.objects.get().content == {"caption": BLOCKED}
    asked = client.post(f"{place}/answer/", {"caption": SHORT}, follow=True).content.decode()
    assert "To keep it anyway, give a reason." in asked
    done = client.post(f"{place}/answer/", {"caption": SHORT, "keep": "it is all"}, follow=True)
    assert "Your answer is stored." in done.content.decode()
    assert Response.objects.get().rules["findings"][0]["reason"] == "it is all"


def test_the_page_asks_what_the_rules_say(campaign: Campaign) -> None:
    client, place = begun(campaign)
    found = client.post(f"{place}/check/", {"caption": SHORT}).json()
    assert found["words"] == 5
    assert [(one["rule"], one["level"]) for one in found["findings"]] == [("short", "confirm")]
    script: dict[str, Any] = {"headers": {"Accept": "application/json"}}
    refused = client.post(f"{place}/answer/", {"caption": SHORT}, **script)
    assert refused.status_code == 422
    assert refused.json()["findings"] == found["findings"]
    assert (
        client.post(f"{place}/check/", {"caption": "x" * 100_000}).json()["findings"][0]["rule"] == "too-long"
    )
    assert client.post(f"{place}/check/", {"caption": "a\0"}, **script).status_code == 422
    assert enter(campaign).post(f"{place}/check/", {"caption": FINE}).status_code == 404
    assert not Response.objects.exists()


def test_the_rules_have_a_page_that_says_why(campaign: Campaign) -> None:
    client, _ = begun(campaign)
    page = client.get(f"/annotate/{campaign.slug}/rules/")
    text = page.content.decode()
    check_page(text, page.headers["Content-Security-Policy"])
    assert all(f'id="{rule}"' in text for rule in RULES)
    lifecycle.set_rules(None, campaign, {"short": "off"})
    assert 'id="short"' not in client.get(f"/annotate/{campaign.slug}/rules/").content.decode()


def test_rules_by_api(campaign: Campaign) -> None:
    staff = user_program("staff", is_staff=True)
    place = f"campaigns/{campaign.slug}/rules"
    assert staff.ask("GET", place)["levels"]["short"] == "confirm"
    changed = staff.ask("PUT", place, {"rules": {"short": "block", "known_words": ["gras"]}})
    assert (changed["version"], changed["levels"]["short"]) == (3, "block")
    staff.ask("PUT", place, {"rules": {"short": "stop"}}, status=422)
    staff.ask("PUT", place, {"rules": {"rude": "block"}}, status=422)
    user_program("ann").ask("GET", place, status=404)
    (token,) = enrollment.invite(None, campaign, 1)
    worker = Program(token)
    mine = f"annotate/{campaign.slug}"
    worker.ask("POST", f"{mine}/agree", {"texts": 3})
    lease = worker.ask("POST", f"{mine}/next", {})["items"][0]["lease"]
    looked = worker.ask("POST", f"{mine}/items/{lease}/check", {"caption": HINTED})
    assert looked == {"words": 8, "findings": [], "cleaned": None}
    sent = {"answer": {"caption": SHORT}, "key": "one", "reasons": {"short": "all"}}
    refused = worker.ask("POST", f"{mine}/items/{lease}/answer", sent, status=422)
    assert refused["findings"][0]["rule"] == "short"
    staff.ask("PUT", place, {"rules": {}})
    assert worker.ask("POST", f"{mine}/items/{lease}/answer", sent)["outcome"] == "stored"
    assert json.loads(json.dumps(Response.objects.get().rules))["findings"][0]["reason"] == "all"
