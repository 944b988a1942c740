"""Confidentiality: private references and the data of other teams are never served.

Clients of every role request all addresses of the server with each method.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, resolve

from capeval_server.accounts.models import Token
from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.models import Assignment, Campaign, Response, Worker
from capeval_server.annotation.workers import enrollment
from capeval_server.api.root import api
from capeval_server.challenges.models import Challenge, Phase, ReferenceVersion
from capeval_server.examples import write_example
from capeval_server.hosting.jobs import request_export
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import worker
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.teams.models import Team
from capeval_server.teams.services.enrollment import make_team
from tests.server.campaigns import answer, hold, join, make
from tests.server.kit import CAPTIONS, RESULTS, code_of, results

pytestmark = pytest.mark.django_db

REFERENCE, HUMAN, OWN = "Xylomarker", "Humanmarker", "Ownmarker"
# What no worker gets: classes, groups and names of items, expected answers, what others wrote.
HIDDEN = "Hiddenmarker"
SCORE = 0.123454321
_OF = "split=val&references=c2"
_BOARD = ["", _OF, f"{_OF}&version=1", f"{_OF}&subset=animals", "split=val&references=c1&fingerprint=x"]
_BOARD += [f"{_OF}&sort_by=x", f"{_OF}&as_of=2030-01-01T00:00:00Z&page=2"]
# The queries with which addresses are asked; all others are asked without one.
QUERIES: dict[str, list[str]] = {
    "annotate/<slug:slug>/enter/": [
        "",
        "PROLIFIC_PID=a&STUDY_ID=b&SESSION_ID=c",
        "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE",
    ],
    "campaigns/<slug:slug>/items/": ["", "which=checks"],
    "campaigns/<slug:slug>/plot.svg": ["", "theme=dark&width=narrow"],
    "api/campaigns/<slug>/items": ["", "which=checks"],
    "campaigns/<slug:slug>/results/plot.svg": ["", "table=metrics&question=pairwise"],
    "campaigns/<slug:slug>/reviews/": ["", "state=all"],
    "api/challenges/<slug>/organize/participants": ["", "start=1"],
    "api/challenges/<slug>/phases/<phase>/leaderboard": [*_BOARD, f"{_OF}&format=csv"],
    "api/challenges/<slug>/splits/<split>/images": ["", "offset=1&limit=2"],
    "api/submissions/<submission_id>/images": ["", _OF, "split=val&references=c1"],
    "submissions/<uuid:pk>/compare/": ["", "with=OTHER"],
    "submissions/<uuid:pk>/examples/": ["", f"{_OF}&image=1", "references=c1&sort=BLEU-1&with=OTHER"],
    "submissions/<uuid:pk>/state/": ["", "seen=x"],
    "<challenge:slug>/announcements/": ["", "page=2"],
    "<challenge:slug>/images/<slug:split>/": ["", "image=1"],
    "<challenge:slug>/<slug:name>/": [*_BOARD, f"{_OF}&layout=both"],
    "<challenge:slug>/<slug:name>/captions/": [
        "",
        "references=c2&domain=animals",
        "search=dog&where=references",
    ],
    "<challenge:slug>/<slug:name>/cite/": _BOARD,
    "<challenge:slug>/<slug:name>/plot.svg": [*_BOARD, f"{_OF}&theme=dark"],
    "<slug:slug>/join/": ["", "code=x"],
    "<slug:slug>/organize/participants/": ["", "page=2"],
    "<slug:slug>/organize/rerun/": ["", "which=all&phase="],
    "<slug:slug>/organize/submissions/": ["", "state=scored&team=a"],
    "<slug:slug>/submissions/": ["", "phase=open"],
}
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


def _routes(resolver: Any, before: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern).removeprefix("^").removesuffix("$")
        if hasattr(pattern, "url_patterns"):
            yield from _routes(pattern, route)
        else:
            yield route


def _values() -> dict[str, list[str]]:
    """Return the existing values of each URL parameter."""
    rows = [row.pk for model in (Team, Token, User) for row in model._default_manager.all()]
    numbers = sorted(set(map(str, rows)))
    submissions = [str(pk) for pk in Submission.objects.values_list("pk", flat=True)]
    return {
        "slug": ["small"],
        "name": ["open"],
        "phase": ["open"],
        "split": ["val"],
        "references": ["c1", "c2"],
        "uuid:pk": submissions,
        "submission_id": submissions,
        "other_id": submissions,
        "text": ["write-coco"],
        "token": ["work_invented"],
        "size": ["small"],
        "form": ["csv"],
        "lease": [str(lease) for lease in Assignment.objects.values_list("lease", flat=True)],
        "pseudonym": list(Worker.objects.values_list("pseudonym", flat=True)[:1]),
        "response_id": [str(pk) for pk in Response.objects.values_list("pk", flat=True)],
        "int:pk": numbers,
        "team_id": numbers,
        "user": ["ann"],
        "number": numbers,
        "id": numbers,
        "app_label": ["challenges", "submissions", "teams"],
        "content_type_id": ["1"],
        "key": ["x"],
        "uidb36": ["1"],
        "url": ["x"],
    }


def _addresses() -> list[str]:
    """All addresses of pages and of the API, of all rows that there are."""
    routes = sorted(set(_routes(get_resolver())))
    assert len(routes) > 150
    assert set(QUERIES) <= set(routes), "remove or correct the queries of addresses that are gone"
    values = _values()
    found = []
    for route in routes:
        names = [match[1] or match[2] for match in _PARAMETER.finditer(route)]
        kinds = ["uuid:pk" if "<uuid:pk>" in route else "int:pk" if name == "pk" else name for name in names]
        parts = [values[kind] if kind != "object_id" else _objects(route) for kind in kinds]
        for chosen in itertools.product(*parts):
            given = iter(chosen)
            path = _PARAMETER.sub(lambda _, given=given: next(given), route)  # type: ignore[misc]
            questions = QUERIES.get(route, [""])
            found += [f"/{path}" + (f"?{question}" if question else "") for question in questions]
    other = values["uuid:pk"][-1]
    return [address.replace("OTHER", other) for address in found]


def _objects(route: str) -> list[str]:
    """The rows of the model that a page of the administration is of."""
    _, app, model, *_ = route.split("/")
    if app == "r":
        return ["1"]
    assert apps.get_model(app, model) in admin.site._registry
    return [str(row.pk) for row in apps.get_model(app, model)._default_manager.all()]


# What differs between two answers to the same question: a form's token, and the second it was answered in.
OF_THE_MOMENT = r"""value="\w{64}"|'Expires': '[^']*'|'X-Request-ID': '\w*'"""


def _text(answer: Any) -> str:
    """Return the headers and the unpacked content of a response."""
    data = b"".join(answer) if answer.streaming else answer.content
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = b"\n".join(archive.read(name) for name in archive.namelist())
    return f"{answer.headers} {data.decode()}"


def _ask(client: Client, method: str, address: str, form: dict[str, Any] | None = None) -> Any:
    """Return the response to a request, and roll back its changes."""
    cookies = deepcopy(client.cookies)
    with transaction.atomic():
        if form:
            answer: Any = client.post(address, form)
        else:
            answer = client.generic(method, address, "{}" if method != "GET" else "", "application/json")
        transaction.set_rollback(True)
    client.cookies = cookies
    assert answer.status_code < 500, (method, address)
    return answer


def _is_program(client: Client) -> bool:
    return "HTTP_AUTHORIZATION" in client.defaults


def _list_addresses(client: Client) -> list[str]:
    """Return the addresses that a client asks: a program, those of the API."""
    return [address for address in _addresses() if address.startswith("/api/") or not _is_program(client)]


def _list_methods(address: str) -> list[str]:
    """Return the methods other than GET with which an address is asked."""
    if "?" in address or address.startswith(("/accounts/", "/admin/")):
        return []
    if not address.startswith("/api/"):
        return ["POST"]
    return _list_operations().get(_PARAMETER.sub("{}", f"/{resolve(address).route}"), ["POST"])


@cache
def _list_operations() -> dict[str, list[str]]:
    """Return the methods other than GET of each path of the API, and one that the path does not have."""
    methods = ("POST", "PUT", "PATCH", "DELETE")
    found = {}
    for path, operations in api.get_openapi_schema()["paths"].items():
        own = [method for method in methods if method.lower() in operations]
        found[re.sub(r"\{\w+\}", "{}", path)] = own + [method for method in methods if method not in own][:1]
    return found


def _served(client: Client) -> Iterator[tuple[str, str]]:
    """Yield all requests of a client with their responses."""
    for address in _list_addresses(client):
        yield address, _text(_ask(client, "GET", address))
        for method in _list_methods(address):
            yield f"{method} {address}", _text(_ask(client, method, address))
    for kind in ("references", "submissions", "drafts", "exports"):
        for name in default_storage.listdir(kind)[1]:
            for root in ("/", "/files/", "/media/", "/static/", "/static/../files/", "/small/organize/"):
                yield name, _text(_ask(client, "GET", f"{root}{kind}/{name}"))
    for data in (results({1: "a"}), results({99: "a"}), b"[", b"PK\x03\x04"):
        for address in ("/small/open/submit/?key=k", "/api/challenges/small/phases/open/submissions"):
            form = {"method": "m"} if address.startswith("/api/") else {"declared-method": "m"}
            file = SimpleUploadedFile(RESULTS, data)
            yield f"upload to {address}", _text(_ask(client, "POST", address, {**form, "file": file}))


def _user(name: str, **kind: bool) -> dict[str, Client]:
    """A user's browser and program."""
    user = User.objects.create(username=name, email=f"{name}@x.org", **kind)
    browser = Client()
    browser.force_login(user)
    text = Token.issue(user.pk, "t", "organize")
    return {name: browser, f"{name}'s program": Client(headers={"Authorization": f"Bearer {text}"})}


@pytest.fixture
def everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, Client]:
    """Clients of every role, for a challenge with private references, a human baseline and two teams."""
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}
    # METEOR fails, and leaves its logs.
    monkeypatch.setenv("CAPEVAL_CACHE", "")
    path = write_example("small", tmp_path / "small")
    challenge = _imported(path, REFERENCE)
    _imported(path, f"{REFERENCE} again")
    other = write_example("small", tmp_path / "other")
    other.write_text(other.read_text().replace('slug = "small"', 'slug = "other"'))
    elsewhere = import_challenge(other)
    found = {"anybody": Client(), **_user("ann"), **_user("bob"), **_user("olga"), **_user("otto")}
    found |= _user("staff", is_staff=True, is_superuser=True)
    challenge.organizers.add(User.objects.get(username="olga"))
    elsewhere.organizers.add(User.objects.get(username="otto"))
    make_team(User.objects.get(username="ann"), challenge, f"{OWN} team")
    make_team(User.objects.get(username="bob"), challenge)
    _submit(found["ann's program"])
    _submit(found["ann's program"])
    request_export(User.objects.get(username="olga"), challenge)
    while worker.work_once():
        pass
    submissions = Submission.objects.filter(team__isnull=False)
    submissions.update(stands=False)
    submissions.filter(pk=submissions[0].pk).update(stands=True)
    Score.objects.filter(name="CIDEr-D", result__submission__team__isnull=False).update(value=SCORE)
    Phase.objects.update(captions=["val"], captions_by="standing")
    _draft(found["olga"], path.parent)
    _campaign(challenge)
    return found


def _campaign(challenge: Challenge) -> None:
    """Create a campaign of the challenge with an attention check, two workers and one answer."""
    made = make("write", items=0, answers=3, review_first=1, batch=2)
    Campaign.objects.filter(pk=made.pk).update(slug="small", challenge=challenge)
    hidden: dict[str, Any] = {
        "group": HIDDEN,
        "category": HIDDEN,
        "image": "",
        "payload": {"keywords": ["cart"]},
    }
    items = [ItemDefinition(key=f"{HIDDEN} {number}", expected={}, **hidden) for number in range(2)]
    items.append(ItemDefinition(key=f"{HIDDEN} check", expected={"caption": HIDDEN}, **hidden))
    add_items(made, items, 3)
    first, second = join(made, 2)
    answer(hold(first), f"{HIDDEN} caption")
    hold(second)


def _draft(organizer: Client, folder: Path) -> None:
    """Files that an organizer sent and has not confirmed."""
    references = {
        image: [f"{REFERENCE} draft", *found] for image, found in _read(folder / "references_c2.json").items()
    }
    file = SimpleUploadedFile("references.json", json.dumps(references).encode())
    answer = organizer.post("/small/organize/references/val/c2/", {"file": file})
    assert answer.status_code == 200
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part in folder.iterdir():
            archive.writestr(part.name, part.read_bytes())
    again = organizer.post(
        "/small/organize/files/", {"file": SimpleUploadedFile("small.zip", out.getvalue())}
    )
    assert again.status_code == 200
    assert len(default_storage.listdir("drafts")[1]) == 2
    assert not _with([REFERENCE, HUMAN], [("draft", _text(answer)), ("files", _text(again))])


def _imported(path: Path, marker: str) -> Challenge:
    """The small challenge, its private references and the captions of its human baseline marked."""
    place = path.parent / "references_c2.json"
    references = {image: [*found, f"{marker} {found[0]}"] for image, found in _read(place).items()}
    place.write_text(json.dumps(references))
    people = path.parent / "human.json"
    marked = [{**entry, "caption": f"{HUMAN} {entry['caption']}"} for entry in _read(people)]
    people.write_text(json.dumps(marked))
    return import_challenge(path)


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def _submit(program: Client) -> None:
    captions = {image: f"{OWN} {text}" for image, text in CAPTIONS.items()}
    name = RESULTS.replace("mine", OWN)
    form = {"method": OWN, "file": SimpleUploadedFile(name, results(captions))}
    assert program.post("/api/challenges/small/phases/open/submissions", form).status_code == 201


def _working() -> dict[str, Client]:
    """Return the browser and the API client of an active worker without an account."""
    campaign = Campaign.objects.get(slug="small")
    (token,) = enrollment.invite(None, campaign, 1)
    hold(enrollment.agree(enrollment.get_invited(campaign, token), 1))
    browser = Client()
    assert browser.get(f"/annotate/small/enter/{token}/").status_code == 302
    program = Client(headers={"Authorization": f"Bearer {token}"})
    return {"a worker": browser, "a worker's program": program}


def _with(secrets: list[str], served: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(asked, secret) for asked, text in served for secret in secrets if secret.lower() in text.lower()]


def test_no_private_references_are_served_and_to_no_worker_what_they_must_not_know(
    everybody: dict[str, Client], caplog: pytest.LogCaptureFixture, mailoutbox: list[Any]
) -> None:
    caplog.set_level("DEBUG")
    everybody |= _working()
    for who, client in everybody.items():
        served = list(_served(client))
        assert len(served) > (200 if _is_program(client) else 250), who
        assert not _with([REFERENCE, HUMAN], served), who
        hidden = _with([HIDDEN], served)
        assert not hidden or who.startswith(("olga", "staff")), who
        assert hidden or who != "olga's program"
    program, browser = everybody["a worker's program"], everybody["a worker"]
    assert "cart" in _text(_ask(program, "POST", "/api/annotate/small/next"))
    assert "Keywords: cart" in _text(_ask(browser, "GET", "/annotate/small/"))
    assert Result.objects.filter(log__gt="").count() > 2
    assert not _with([REFERENCE, HUMAN], [("log", caplog.text), ("mail", repr(mailoutbox))])
    # The markers are there to be found.
    stored = [str(version.file) for version in ReferenceVersion.objects.filter(reference_set__name="c2")]
    stored += [str(file.file) for found in Submission.objects.filter(team=None) for file in found.files.all()]
    texts = ""
    for name in stored:
        with default_storage.open(name) as file:
            texts += file.read().decode()
    assert REFERENCE in texts
    assert f"{REFERENCE} again" in texts
    assert HUMAN in texts


@pytest.mark.parametrize("broken", ['{"1": ["SECRET"', '{"1": "SECRET"}', '["SECRET"]', '{"SECRET": 1}'])
def test_references_that_cannot_be_read_are_in_no_log(
    everybody: dict[str, Client], settings: Any, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    settings.MAX_ATTEMPTS = 1
    for version in ReferenceVersion.objects.filter(reference_set__name="c2"):
        with default_storage.open(str(version.file), "wb") as file:
            file.write(broken.replace("SECRET", REFERENCE).encode())
    _submit(everybody["bob's program"])
    assert worker.work_once()
    found = Submission.objects.get(team__name="bob")
    assert (found.state, found.reason) == ("failed", "the system failed 1 times")
    assert not found.counts_for_quota
    assert "the file of references can't be read (" in found.log
    assert REFERENCE not in found.log + caplog.text


def test_what_is_a_teams_own_is_served_to_no_other(everybody: dict[str, Client]) -> None:
    Submission.objects.filter(team__isnull=False).update(reason=OWN, mark_reason=OWN, mark="flagged")
    secrets = [OWN, str(SCORE), *map(code_of, Team.objects.filter(name__startswith=OWN))]
    Phase.objects.update(leaderboard="hidden")
    for who in ("anybody", "bob", "bob's program", "otto", "otto's program"):
        assert not _with(secrets, list(_served(everybody[who]))), who
    assert {secret for _, secret in _with(secrets, list(_served(everybody["ann"])))} >= {OWN, secrets[2]}
    # Other requests than GET don't depend on the leaderboard.
    Phase.objects.update(leaderboard="after")
    for who in ("anybody", "bob", "bob's program"):
        client = everybody[who]
        served = [(address, _text(_ask(client, "GET", address))) for address in _list_addresses(client)]
        assert not _with(secrets, served), who


def test_pages_accept_no_token(everybody: dict[str, Client]) -> None:
    pages = [address for address in _addresses() if address.startswith("/small/organize/")]
    assert len(pages) > 10
    for address in pages:
        assert _ask(everybody["olga's program"], "GET", address).status_code in (302, 404), address


def test_what_is_not_published_is_a_teams_own(everybody: dict[str, Client]) -> None:
    published = Submission.objects.get(stands=True)
    unpublished = Submission.objects.get(stands=False, team__isnull=False)
    nothing = "00000000-0000-0000-0000-000000000000"
    for who in ("anybody", "bob", "bob's program", "otto", "otto's program"):
        for address in _addresses():
            if str(unpublished.pk) not in address.partition("?")[0] or address.startswith("/admin/"):
                continue
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                answer = _ask(everybody[who], method, address)
                missing = _ask(everybody[who], method, address.replace(str(unpublished.pk), nothing))
                assert answer.status_code == missing.status_code != 200, (who, method, address)
                same = _text(answer).replace(str(unpublished.pk), nothing)
                assert re.sub(OF_THE_MOMENT, "", same) == re.sub(OF_THE_MOMENT, "", _text(missing))
    assert _ask(everybody["bob"], "GET", f"/submissions/{published.pk}/").status_code == 200
