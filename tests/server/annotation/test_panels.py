"""Workers from panels: identity, forged and expired links, completion codes, and participants as workers."""

from __future__ import annotations

import base64
import html
import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.definition import read_panel
from capeval_server.annotation.models import Assignment, Campaign, Identity, Participation, Session, Worker
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, session_end
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.workers import enrollment, panels
from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import AssignmentError, CampaignError, EntryError, NotFoundError
from capeval_server.teams.services.enrollment import make_team
from tests.server.annotation.test_api import ITEMS, Program, files, user_program
from tests.server.campaigns import STUDY_LINES, answer, counted, hold, make
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

AUDIENCE = "https://captions.example.org"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
REDIRECT = "https://app.prolific.com/submissions/complete?cc={code}"


def key_set(**keys: rsa.RSAPrivateKey) -> dict[str, Any]:
    """The public keys as a panel publishes them."""
    found = []
    for kid, key in keys.items():
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
        found.append({**public, "kid": kid, "alg": "RS256", "use": "sig"})
    return {"keys": found}


def ids(person: str = "ann", session: str = "s1", study: str = "study1") -> dict[str, str]:
    return {"PROLIFIC_PID": person, "STUDY_ID": study, "SESSION_ID": session}


def signed(
    given: Any = None, *, key: Any = KEY, kid: str = "a", algorithm: str = "RS256", **claims: Any
) -> dict[str, str]:
    content = {"aud": AUDIENCE, "exp": int(time.time()) + 600, "prolific": given or ids(), **claims}
    content = {name: value for name, value in content.items() if value is not None}
    return {"prolific_token": jwt.encode(content, key, algorithm=algorithm, headers={"kid": kid})}


def panel(campaign: Campaign, **more: Any) -> panels.PanelSettings:
    wanted = {"name": "prolific", "answers": 2, "redirect": REDIRECT, **more}
    return panels.set_panel(None, campaign, wanted)


def signing() -> dict[str, Any]:
    return {"audience": AUDIENCE, "keys": key_set(a=KEY, b=OTHER_KEY)}


def begin(campaign: Campaign, **who: str) -> Participation:
    return enrollment.agree(panels.enter(campaign, ids(**who)), 1)


def test_the_same_panel_id_is_one_worker() -> None:
    campaign, elsewhere = make(answers=3, items=3), make(answers=3, items=3)
    panel(campaign)
    panel(elsewhere)
    first = panels.enter(campaign, ids())
    assert panels.enter(campaign, ids()) == first
    assert panels.enter(campaign, ids(session="s2")) == first
    assert panels.enter(campaign, ids("bob")) != first
    assert panels.enter(elsewhere, ids()).worker == first.worker
    assert Worker.objects.count() == Identity.objects.count() == 2
    assert list(first.sessions.values_list("session", "study", "verified")) == [
        ("s1", "study1", False),
        ("s2", "study1", False),
    ]
    assert panels.get_entered(campaign, panels.token_of(first)) == first
    foreign = panels.token_of(panels.enter(elsewhere, ids()))
    for token in ("panel_", "panel_x", panels.token_of(first)[:-1], foreign):
        with pytest.raises(NotFoundError):
            panels.get_entered(campaign, token)


def test_other_panels_have_other_parameters() -> None:
    campaign = make(answers=3)
    names = {"participant": "survey_code", "study": "experiment", "session": "response_id"}
    panel(campaign, name="sona", studies=["7"], **names)
    given = {"survey_code": "1", "experiment": "7", "response_id": "9"}
    assert panels.enter(campaign, given).sessions.get().session == "9"
    wrong: list[dict[str, str]] = [
        {**given, "survey_code": ""},
        {**given, "survey_code": "{{%PID%}}"},
        {**given, "survey_code": "x" * 201},
        {**given, "survey_code": "a b"},
        {**given, "survey_code": "\0"},
        {**given, "experiment": "8"},
        {"survey_code": "1", "experiment": "7"},
        ids(),
        {},
    ]
    for query in wrong:
        with pytest.raises(EntryError):
            panels.enter(campaign, query)
    assert Worker.objects.count() == 1


def test_a_signed_link() -> None:
    campaign = make(answers=3)
    panel(campaign, signed=signing())
    found = panels.enter(campaign, signed())
    assert found.sessions.get().verified
    assert panels.enter(campaign, {**signed(), **ids()}) == found
    assert panels.enter(campaign, signed(key=OTHER_KEY, kid="b")) == found
    assert Worker.objects.count() == 1


def test_forged_expired_and_foreign_links_are_refused() -> None:
    campaign = make(answers=3)
    panel(campaign, signed=signing())
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    modulus = key_set(a=KEY)["keys"][0]["n"]
    token = signed()["prolific_token"]
    head, body, signature = token.split(".")
    other = signed(ids("eve"))["prolific_token"].split(".")[1]
    bare = base64.urlsafe_b64encode(b'{"alg":"none","kid":"a"}').decode().rstrip("=")
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    wrong: dict[str, dict[str, str]] = {
        "no token": ids(),
        "nothing": {},
        "another's key": signed(key=stranger),
        "another key of the set": signed(key=OTHER_KEY),
        "no such key": signed(kid="c"),
        "expired": signed(exp=int(time.time()) - 1),
        "never expires": signed(exp=None),
        "not valid yet": signed(nbf=int(time.time()) + 600),
        "another server": signed(aud="https://elsewhere.example.org"),
        "no server": signed(aud=None),
        "the public key as a secret": signed(key=modulus, algorithm="HS256"),
        "another algorithm": signed(algorithm="RS512"),
        "no signature": {"prolific_token": f"{bare}.{body}."},
        "other content": {"prolific_token": f"{head}.{other}.{signature}"},
        "no ids": signed({"other": "x"}),
        "ids that are no texts": signed({"PROLIFIC_PID": 1, "STUDY_ID": [], "SESSION_ID": {}}),
        "a claim that is no object": signed("ann"),
        "other ids with it": {**signed(), **ids("eve")},
        "no token at all": {"prolific_token": "x"},
        "too long": {"prolific_token": token + "x" * 9000},
        "not text": {"prolific_token": "\ud800.é.\0"},
    }
    assert "BEGIN PUBLIC KEY" in public
    for name, query in wrong.items():
        with pytest.raises(EntryError):
            raise AssertionError(name, panels.enter(campaign, query))
    assert not Worker.objects.exists()
    # Keys that the panel has withdrawn are not valid any more.
    panel(campaign, signed={"audience": AUDIENCE, "keys": key_set(b=OTHER_KEY)})
    with pytest.raises(EntryError):
        panels.enter(campaign, signed())
    assert panels.enter(campaign, signed(key=OTHER_KEY, kid="b"))


def test_a_panel_that_is_not_what_it_must_be() -> None:
    campaign = make(answers=3)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"name": "A b"}, "panel.name"),
        ({"answers": 0}, "panel.answers"),
        ({"participant": "x&y"}, "panel.participant"),
        ({"study": "PROLIFIC_PID"}, "must be different parameters"),
        ({"redirect": "http://x.org/{code}"}, "must begin with https"),
        ({"redirect": "https://x.org/"}, "contain {code} once"),
        ({"codes": {"other": "CODE1"}}, "unknown outcome 'other'"),
        ({"codes": {"completed": "CODE1", "returned": "CODE1"}}, "must be unique"),
        ({"codes": {"completed": "<b>"}}, "panel.codes.completed"),
        ({"signed": {"audience": AUDIENCE, "keys": {}}}, "JSON Web Key Set"),
        ({"signed": {"audience": AUDIENCE, "keys": {"keys": ["x"]}}}, "JSON Web Key Set"),
        ({"signed": {"audience": "", "keys": key_set(a=KEY)}}, "panel.signed.audience"),
        ({"more": 1}, "panel.more"),
    ]
    for more, message in wrong:
        with pytest.raises(CampaignError, match=message.replace("{", r"\{")):
            panel(campaign, **more)
    with pytest.raises(NotFoundError):
        panels.enter(campaign, ids())
    first = panel(campaign, codes={"completed": "MYCODE1"})
    assert first.codes["completed"] == "MYCODE1"
    assert len(set(first.codes.values())) == len(Session.Outcome.values)
    again = panel(campaign, codes={"returned": "MYCODE2"})
    assert again.codes == {**first.codes, "returned": "MYCODE2"}
    draft = make(answers=1, state="draft")
    panel(draft)
    with pytest.raises(NotFoundError):
        panels.enter(draft, ids())


def test_each_end_has_its_code_and_none_is_seen_before() -> None:
    campaign = make(answers=20, items=4)
    codes = panel(campaign).codes
    staff = user_program("staff", is_staff=True)
    place = f"annotate/{campaign.slug}"

    def come(person: str) -> tuple[Program, Client, list[str]]:
        """A program and a browser of the same worker, and all that they get."""
        token = Program("").ask("POST", f"{place}/enter", {"parameters": ids(person)}, 201)["token"]
        browser = Client()
        entry = browser.get(f"/{place}/enter/", ids(person))
        assert (entry.status_code, entry.headers["Location"]) == (302, f"/{place}/")
        seen = [str(entry.headers), shown(browser)]
        return Program(token), browser, seen

    def shown(browser: Client, address: str = "") -> str:
        got = browser.get(f"/{place}/{address}")
        check_page(got.content.decode(), got.headers["Content-Security-Policy"])
        return got.content.decode() + str(got.headers)

    def work(program: Program, browser: Client, seen: list[str], number: int) -> None:
        seen.append(str(program.ask("GET", place)))
        seen.append(str(program.ask("POST", f"{place}/agree", {"texts": 1})))
        for _ in range(number):
            seen.append(shown(browser))
            seen.append(shown(browser, "leave/"))
            batch = program.ask("POST", f"{place}/next", {})
            seen.append(str(batch))
            lease = batch["items"][0]["lease"]
            sent = {"answer": {"choice": "left"}, "key": "k" + lease}
            seen.append(str(program.ask("POST", f"{place}/items/{lease}/answer", sent)))

    ends: dict[str, str] = {}

    def ended(outcome: str, browser: Client, seen: list[str], text: str) -> None:
        assert not [code for code in codes.values() for part in seen if code in part]
        assert [code for code in codes.values() if code in text] == [codes[outcome]], outcome
        assert f'href="{REDIRECT.replace("{code}", codes[outcome])}"' in text
        ends[outcome] = text
        if outcome != "withdrew":
            assert codes[outcome] in shown(browser)

    for outcome in ("no_consent", "unsuitable"):
        _, browser, seen = come(outcome)
        done = browser.post(f"/{place}/finish/", {"outcome": outcome}, follow=True)
        ended(outcome, browser, seen, done.content.decode())
    program, browser, seen = come("completed")
    work(program, browser, seen, 2)
    assert program.ask("POST", f"{place}/next", {})["end"]["code"] == codes["completed"]
    ended("completed", browser, seen, shown(browser))
    program, browser, seen = come("returned")
    work(program, browser, seen, 1)
    shown(browser)
    done = browser.post(f"/{place}/finish/", {"outcome": "returned"}, follow=True)
    ended("returned", browser, seen, done.content.decode())
    assert not Assignment.objects.filter(state="held").exists()
    program, browser, seen = come("withdrew")
    work(program, browser, seen, 1)
    ended("withdrew", browser, seen, browser.post(f"/{place}/leave/", {"sure": "yes"}).content.decode())
    program, browser, seen = come("failed")
    work(program, browser, seen, 1)
    moderation.block(None, panels.enter(campaign, ids("failed")), "three checks failed")
    ended("failed_checks", browser, seen, shown(browser))
    program, browser, seen = come("nothing")
    work(program, browser, seen, 1)
    early = browser.post(f"/{place}/finish/", {"outcome": "nothing_left"}, follow=True)
    seen.append(early.content.decode())
    assert "there is still work for you" in seen[-1]
    lifecycle.change_state(None, campaign, "closing")
    held = Assignment.objects.filter(state="held").get()
    assignment.set_aside(held, "skipped")
    waiting = shown(browser)
    seen.append(waiting)
    assert "This campaign is closing" in waiting
    done = browser.post(f"/{place}/finish/", {"outcome": "nothing_left"}, follow=True)
    ended("nothing_left", browser, seen, done.content.decode())
    assert set(ends) == set(Session.Outcome.values) - {"screened_out"}
    assert staff.ask("GET", f"campaigns/{campaign.slug}/panel")["codes"] == codes
    user_program("somebody").ask("GET", f"campaigns/{campaign.slug}/panel", status=404)
    assert list(audit(campaign)) == []


def test_what_a_worker_may_not_say_of_the_end() -> None:
    campaign = make(answers=5, items=3)
    panel(campaign)
    worker = begin(campaign)
    for outcome in ("completed", "screened_out", "no_consent", "withdrew", "x", ""):
        with pytest.raises(AssignmentError):
            session_end.end_session(worker, outcome)
    (token,) = enrollment.invite(None, campaign, 1)
    with pytest.raises(AssignmentError, match="workers from a panel"):
        session_end.end_session(enrollment.get_invited(campaign, token), "returned")
    session_end.end_session(worker, "returned")
    session_end.end_session(worker, "unsuitable")
    assert worker.sessions.get().outcome == "returned"


def test_a_new_session_goes_on_with_the_same_worker() -> None:
    campaign = make(answers=5, items=6)
    panel(campaign)
    worker = begin(campaign)
    items = []
    for session in ("s1", "s2"):
        panels.enter(campaign, ids(session=session))
        for _ in range(2):
            items.append(hold(worker).item_id)
            answer(hold(worker))
        assert assignment.assign_work(worker).assignments == []
    assert len(set(items)) == 4
    assert list(worker.sessions.values_list("outcome", flat=True)) == ["completed", "completed"]


FIVE = f"""
[campaign]
slug = "five"
title = "Which sentence is closer?"
kind = "triplet"
items = "items.jsonl"

[settings]
answers = 4
check_every = 0
repeat_every = 0
{STUDY_LINES}"""


def answer_batch(program: Program, place: str) -> int:
    """The number of items of the next batch, all of which are answered."""
    items = program.ask("POST", f"{place}/next", {})["items"]
    for item in items:
        sent = {"answer": {"choice": "left"}, "key": item["lease"]}
        assert program.ask("POST", f"{place}/items/{item['lease']}/answer", sent)["outcome"] == "stored"
    return len(items)


def test_a_study_of_five_answers_by_api_alone() -> None:
    staff = user_program("staff", is_staff=True)
    items = [{**ITEMS[0], "key": str(key)} for key in range(30)]
    made = staff.ask("POST", "campaigns", files(FIVE, items), 201)
    assert made["settings"]["batch"] == 10
    wanted = {"name": "prolific", "studies": ["study1"], "answers": 5, "redirect": REDIRECT}
    stored = staff.ask("PUT", "campaigns/five/panel", wanted)
    assert {name: stored[name] for name in wanted} == wanted
    assert stored == staff.ask("GET", "campaigns/five/panel")
    staff.ask("PUT", "campaigns/five/state", {"state": "open"})
    code = stored["codes"]["completed"]
    place = "annotate/five"
    for session in ("s1", "s2"):
        entry = {"parameters": ids(session=session)}
        program = Program(Program("").ask("POST", f"{place}/enter", entry, 201)["token"])
        if session == "s1":
            program.ask("POST", f"{place}/agree", {"texts": 1})
        assert answer_batch(program, place) == 5
        end = program.ask("POST", f"{place}/next", {})["end"]
        assert (end["outcome"], end["code"]) == ("completed", code)
        assert end["address"] == REDIRECT.replace("{code}", code)
    # The same person came twice, and got ten different items.
    assert Participation.objects.get().answered == 10


def test_a_session_gets_no_more_items_than_it_still_needs() -> None:
    campaign = make(answers=5, items=30, batch=4)
    panel(campaign, answers=6)
    worker = begin(campaign)
    first, *rest = assignment.assign_work(worker).assignments
    assert len(rest) == 3
    assignment.set_aside(first, "skipped")
    for held in rest:
        answer(held)
    sizes = []
    while batch := assignment.assign_work(worker).assignments:
        sizes.append(len(batch))
        for held in batch:
            answer(held)
    # The skipped item is no answer: another one takes its place.
    assert sizes == [3]
    assert worker.sessions.get().outcome == "completed"
    # A session that stops early gives its items back; the next one gets as many as the panel asks for.
    panels.enter(campaign, ids(session="s2"))
    assert len(assignment.assign_work(worker).assignments) == 4
    session_end.end_session(worker, "returned")
    panels.enter(campaign, ids(session="s3"))
    assert [len(assignment.assign_work(worker).assignments) for _ in range(2)] == [4, 4]
    # A batch that is held already is cut when the panel asks for fewer answers.
    panel(campaign, answers=2)
    for held in assignment.assign_work(worker).assignments:
        answer(held)
    assert assignment.assign_work(worker).assignments == []
    assert list(worker.sessions.values_list("outcome", flat=True)) == ["completed", "returned", "completed"]
    assert Participation.objects.get(pk=worker.pk).answered == 6 + 2
    assert list(audit(campaign)) == []


def test_checks_and_lost_leases_make_no_session_longer() -> None:
    campaign = make(answers=5, items=30, checks=6, batch=4, check_every=8)
    panel(campaign, answers=7)
    for person in ("ann", "bob", "cleo"):
        worker = begin(campaign, person=person)
        sizes = []
        while batch := assignment.assign_work(worker).assignments:
            Assignment.objects.filter(state="held").update(lease_until=timezone.now() - timedelta(days=1))
            again = assignment.assign_work(worker).assignments
            assert [held.pk for held in again] == [held.pk for held in batch]
            sizes.append(len(batch))
            for held in batch:
                answer(held)
        assert sizes == [4, 3]
        assert worker.sessions.get().outcome == "completed"


def test_the_body_of_a_panel_is_described_and_checked() -> None:
    staff = user_program("staff", is_staff=True)
    campaign = make(answers=3)
    place = f"campaigns/{campaign.slug}/panel"
    described = Client().get("/api/openapi.json").json()
    operation = described["paths"]["/api/campaigns/{slug}/panel"]["put"]
    assert [one["name"] for one in operation["parameters"]] == ["slug"]
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    fields = described["components"]["schemas"][reference.rpartition("/")[2]]["properties"]
    assert {
        "name",
        "participant",
        "study",
        "session",
        "studies",
        "answers",
        "redirect",
        "approval_rate",
        "approved_tasks",
        "countries",
        "external_question",
        "signed",
        "codes",
    } == set(fields)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "answers"),
        ({"answers": 0}, "greater than or equal to 1"),
        ({"answers": 5, "more": 1}, "more"),
        ({"answers": 5, "redirect": "http://x.org/{code}"}, "must begin with https"),
        ({"answers": 5, "signed": {"audience": AUDIENCE, "keys": {}}}, "JSON Web Key Set"),
        ({"answers": 5, "codes": {"completed": "CODE1", "returned": "CODE1"}}, "must be unique"),
    ]
    for more, message in wrong:
        refused = staff.ask("PUT", place, {"name": "prolific", **more}, 422)
        assert message in json.dumps(refused), refused
    staff.ask("GET", place, status=404)
    first = staff.ask("PUT", place, {"name": "prolific", "answers": 5, "signed": signing()})
    assert first["signed"]["keys"] == signing()["keys"]
    again = staff.ask("PUT", place, {"name": "prolific", "answers": 6, "codes": {"returned": "MYCODE2"}})
    assert again["codes"] == {**first["codes"], "returned": "MYCODE2"}
    user_program("somebody").ask("PUT", place, {"name": "prolific", "answers": 5}, 404)


def test_who_withdrew_is_not_known_any_more_and_does_not_come_back() -> None:
    campaign, elsewhere = make(answers=5), make(answers=5)
    panel(campaign)
    panel(elsewhere)
    worker = begin(campaign)
    there = begin(elsewhere)
    answer(hold(worker))
    withdrawal.withdraw(None, worker, by_worker=True)
    left = Worker.objects.get(pk=worker.worker_id)
    assert not left.identities.exists()
    assert list(worker.sessions.values_list("study", "session", "outcome")) == [(None, None, "withdrew")]
    with pytest.raises(AssignmentError, match="you have withdrawn"):
        panels.enter(campaign, ids(session="s9"))
    with pytest.raises(AssignmentError, match="you have withdrawn"):
        panels.get_entered(campaign, panels.token_of(worker))
    assert panels.enter(elsewhere, ids()) == there
    assert assignment.assign_work(there).assignments
    withdrawal.withdraw(None, there)
    assert not Identity.objects.exists()


@pytest.fixture
def challenge(tmp_path: Path, settings: Any) -> Challenge:
    from capeval_server.examples import write_example
    from capeval_server.hosting.services.definition_files import import_challenge

    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}
    assert default_storage
    return import_challenge(write_example("small", tmp_path / "small"))


def test_a_participant_does_not_judge_under_a_panel_identity_once_linked(challenge: Challenge) -> None:
    campaign = make(answers=5, items=4)
    Campaign.objects.filter(pk=campaign.pk).update(challenge=challenge)
    campaign.refresh_from_db()
    panel(campaign)
    ann = User.objects.create(username="ann")
    make_team(ann, challenge)
    worker = begin(campaign)
    answer(hold(worker))
    assert counted(campaign) == 1
    staff = user_program("staff", is_staff=True)
    place = f"campaigns/{campaign.slug}/workers/{worker.worker.pseudonym}/account"
    user_program("somebody").ask("PUT", place, {"user": "ann"}, 404)
    staff.ask("PUT", place, {"user": "nobody"}, 404)
    assert staff.ask("PUT", place, {"user": "ann"}) == {"blocked": True, "answers": 1}
    assert counted(campaign) == 0
    program = Program(panels.token_of(worker))
    refused = program.ask("POST", f"annotate/{campaign.slug}/next", {}, 409)
    assert "can't judge its captions" in refused["detail"]
    # They may still withdraw.
    assert program.ask("GET", f"annotate/{campaign.slug}/withdraw")["removed"] == 1
    assert not Action.objects.filter(what__contains="ann in").exists()


def test_who_is_signed_in_is_the_person_who_works(challenge: Challenge) -> None:
    campaign = make(answers=5, items=4)
    Campaign.objects.filter(pk=campaign.pk).update(challenge=challenge)
    campaign.refresh_from_db()
    panel(campaign)
    ann, bob = (User.objects.create(username=name) for name in ("ann", "bob"))
    make_team(ann, challenge)
    for user, status in ((ann, 409), (bob, 200)):
        browser = Client()
        browser.force_login(user)
        browser.get(f"/annotate/{campaign.slug}/enter/", ids(user.username))
        assert browser.get(f"/annotate/{campaign.slug}/").status_code == status
        # Signed out, they are still known.
        browser.logout()
        browser = Client()
        browser.get(f"/annotate/{campaign.slug}/enter/", ids(user.username))
        assert browser.get(f"/annotate/{campaign.slug}/").status_code == status
    # The same person cannot work twice, through a panel and as a user.
    with pytest.raises(AssignmentError, match="you already take part in this campaign"):
        enrollment.check_conflicts(enrollment.enter_as_user(bob, campaign))
    assert moderation.link_account(None, panels.enter(campaign, ids("carl")), bob) is None
    with pytest.raises(AssignmentError, match="you already take part in this campaign"):
        enrollment.check_conflicts(panels.enter(campaign, ids("carl")))
    with pytest.raises(CampaignError, match="from a link or a panel"):
        moderation.link_account(None, enrollment.enter_as_user(ann, campaign), bob)


def test_the_pages_of_a_link_that_is_wrong() -> None:
    campaign = make(answers=5)
    browser = Client()
    assert browser.get(f"/annotate/{campaign.slug}/enter/", ids()).status_code == 404
    panel(campaign, signed=signing())
    refused = browser.get(f"/annotate/{campaign.slug}/enter/", signed(exp=1))
    assert refused.status_code == 403
    assert "has expired" in refused.content.decode()
    assert browser.get(f"/annotate/{campaign.slug}/").status_code == 302
    accepted = browser.get(f"/annotate/{campaign.slug}/enter/", signed(ids("Annmarker", "Sessionmarker")))
    cookie = accepted.cookies[f"annotate-{campaign.pk}"]
    assert (cookie["httponly"], cookie["path"]) == (True, f"/annotate/{campaign.slug}/")
    assert "marker" not in cookie.value
    assert "I don't agree" in browser.get(f"/annotate/{campaign.slug}/").content.decode()


def test_the_file_of_a_panel(tmp_path: Path) -> None:
    (tmp_path / "jwks.json").write_text(json.dumps(key_set(a=KEY)))
    text = 'name = "prolific"\nanswers = 3\n[signed]\naudience = "x"\nkeys = "jwks.json"\n'
    files = {"panel.toml": text, "bad.toml": "[", "other.toml": text.replace("jwks.json", "other.toml")}
    for name, content in files.items():
        (tmp_path / name).write_text(content)

    def read(name: str) -> bytes:
        return (tmp_path / name).read_bytes()

    assert read_panel("panel.toml", read)["signed"]["keys"] == key_set(a=KEY)
    for name, message in (("bad.toml", "must be TOML"), ("other.toml", "must be JSON")):
        with pytest.raises(CampaignError, match=message):
            read_panel(name, read)


def test_a_link_that_a_competitor_opens_stays_valid(challenge: Challenge) -> None:
    campaign = make(kind="pairwise", answers=5, items=4)
    Campaign.objects.filter(pk=campaign.pk).update(challenge=challenge)
    (token,) = enrollment.invite(None, campaign, 1)
    ann = User.objects.create(username="ann")
    make_team(ann, challenge)
    browser, place = Client(), f"/annotate/{campaign.slug}/"
    browser.force_login(ann)
    assert browser.get(f"{place}enter/{token}/").status_code == 409
    assert Worker.objects.get().account is None
    other = Client()
    other.get(f"{place}enter/{token}/")
    assert other.get(place).status_code == 200


def test_participants_who_worked_signed_out_are_marked(challenge: Challenge) -> None:
    campaign = make("triplet", answers=5, items=4)
    assert "Participants of the challenge" not in consent(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(challenge=challenge)
    campaign.refresh_from_db()
    assert "Participants of the challenge “A small challenge” can't judge its captions." in consent(campaign)
    ann = User.objects.create(username="ann")
    make_team(ann, challenge)
    staff, browser = Client(), Client()
    staff.force_login(User.objects.create(username="staff", is_staff=True))
    (token,) = enrollment.invite(None, campaign, 1)
    place = f"/annotate/{campaign.slug}/"
    browser.get(f"{place}enter/{token}/")
    browser.post(f"{place}agree/", {"texts": "1"})
    worker = Participation.objects.get(stage="working")
    answer(hold(worker))
    pages = [f"/campaigns/{campaign.slug}/workers/{each}" for each in ("", f"{worker.worker.pseudonym}/")]
    marks = (">participant</span>", "The account of this worker takes part in the challenge.")
    for page, mark in zip(pages, marks, strict=True):
        assert mark not in staff.get(page).content.decode()
    browser.force_login(ann)
    assert browser.get(place).status_code == 409
    for page, mark in zip(pages, marks, strict=True):
        assert mark in staff.get(page).content.decode()
    # The organizer decides.
    assert counted(campaign) == 1
    moderation.block(None, worker, "takes part in the challenge")
    assert counted(campaign) == 0
    assert marks[1] not in staff.get(pages[1]).content.decode()


def consent(campaign: Campaign) -> str:
    """The page that a new worker reads before they agree."""
    (token,) = enrollment.invite(None, campaign, 1)
    browser = Client()
    browser.get(f"/annotate/{campaign.slug}/enter/{token}/")
    return html.unescape(browser.get(f"/annotate/{campaign.slug}/").content.decode())
