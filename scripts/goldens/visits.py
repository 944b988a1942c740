"""Visits: pages after submitted forms, and error pages."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

from scripts.goldens.accounts import confirmation_link
from scripts.goldens.campaigns import PANEL, TRAINED
from scripts.goldens.server import PASSWORD, Person
from scripts.goldens.story import HIDDEN, Story

__all__ = ["VISITS"]

VISITS: dict[str, Callable[[Story], Any]] = {}
"""Functions that return the response to the last request of a visit, by name."""

_Visit = Callable[[Story], Any]


def _visit(visit: _Visit) -> _Visit:
    VISITS[visit.__name__.strip("_").replace("_", "-")] = visit
    return visit


@_visit
def _sign_in(_: Story) -> Any:
    return _post(Person("visitor"), "/accounts/login/", login="ann", password=PASSWORD)


@_visit
def _sign_in_with_second_factor(_: Story) -> Any:
    return _post(Person("visitor"), "/accounts/login/", login="bob", password=PASSWORD)


@_visit
def _sign_out(story: Story) -> Any:
    return _post(story.people["ann"], "/accounts/logout/")


@_visit
def _change_password(story: Story) -> Any:
    form = {"oldpassword": PASSWORD, "password1": "white-goats-2026", "password2": "white-goats-2026"}
    return _post(story.people["ann"], "/accounts/password/change/", **form)


@_visit
def _add_email(story: Story) -> Any:
    return _post(story.people["ann"], "/accounts/email/", action_add="", email="anna@example.org")


@_visit
def _use_unconfirmed_email(story: Story) -> Any:
    _add_email(story)
    return _post(story.people["ann"], "/accounts/email/", action_primary="", email="anna@example.org")


@_visit
def _use_confirmed_email(story: Story) -> Any:
    return _post(story.people["ann"], "/accounts/email/", action_primary="", email="ann@example.org")


@_visit
def _confirm_email(story: Story) -> Any:
    _add_email(story)
    return _post(story.people["ann"], confirmation_link())


@_visit
def _remove_email(story: Story) -> Any:
    _add_email(story)
    return _post(story.people["ann"], "/accounts/email/", action_remove="", email="anna@example.org")


@_visit
def _remove_primary_email(story: Story) -> Any:
    _add_email(story)
    return _post(story.people["ann"], "/accounts/email/", action_remove="", email="ann@example.org")


@_visit
def _hidden_leaderboard(story: Story) -> Any:
    return story.people["ann"].client.get(f"/small/{HIDDEN}/")


@_visit
def _send_references(story: Story) -> Any:
    name = "references_c1.json"
    file = _make_file(name, (story.scratch / "small" / name).read_bytes())
    return _post(story.people["olga"], "/small/organize/references/val/c2/", file=file)


@_visit
def _new_campaign(story: Story) -> Any:
    items = (story.scratch / "pairwise-campaign" / "items.jsonl").read_bytes()
    return _send_campaign(story, _make_file("items.jsonl", items))


@_visit
def _assign_columns(story: Story) -> Any:
    return _send_campaign(story, _make_file("items.csv", b"photo,words\n1.jpg,A dog runs.\n2.jpg,\n"))


@_visit
def _add_items(story: Story) -> Any:
    items = b"key,image,first,second\nnew,1.jpg,A dog.,A cat.\n"
    row = (story.scratch / "pairwise-campaign" / "items.jsonl").read_text().splitlines()[0]
    items = items.replace(b"1.jpg", json.loads(row)["image"].encode())
    address = "/campaigns/pairwise-campaign/items/add/"
    return _post(story.people["olga"], address, items=_make_file("new.csv", items))


def _send_campaign(story: Story, items: io.BytesIO) -> Any:
    folder = story.scratch / "pairwise-campaign"
    pictures = io.BytesIO()
    with zipfile.ZipFile(pictures, "w") as archive:
        for path in sorted((folder / "images").iterdir()):
            archive.writestr(path.name, path.read_bytes())
    address = "/new/campaign/from/pairwise/"
    values = _get_form(story.people["olga"], address)
    changes = {
        "challenge": "small",
        "title": "New",
        "slug": "new",
        "items": items,
        "pictures": _make_file("pictures.zip", pictures.getvalue()),
    }
    return _post(story.people["olga"], address, **values | changes)


@_visit
def _judge_leaderboard(story: Story) -> Any:
    address = "/small/organize/campaigns/judge/"
    values = _get_form(story.people["olga"], f"{address}?phase=open")
    return _post(story.people["olga"], address, **values | {"phase": "open", "kinds": "m5", "images": 2})


@_visit
def _unreleased_data(_: Story) -> Any:
    from capeval_server.challenges.models import Challenge

    Challenge.objects.filter(slug="small").update(data_released=datetime(2036, 1, 1, tzinfo=UTC))
    return Person("visitor").client.get("/small/kit.zip")


@_visit
def _answer_training(story: Story) -> Any:
    worker = Person("worker")
    place = f"/annotate/{TRAINED}/"
    worker.client.get(f"{place}enter/{story.trainee}/")
    worker.post(f"{place}agree/", texts="1")
    (lease,) = set(re.findall(rf"{place}([0-9a-f-]{{36}})/answer/", worker.see(place)))
    return _post(worker, f"{place}{lease}/answer/", choice="left")


@_visit
def _end_session_of_panel(_: Story) -> Any:
    worker = Person("worker")
    place = f"/annotate/{PANEL}/"
    worker.client.get(f"{place}enter/?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=e1")
    worker.post(f"{place}agree/", texts="1")
    return _post(worker, f"{place}finish/", outcome="returned")


@_visit
def _recruit_in_mechanical_turk(story: Story) -> Any:
    _set_external_question()
    return story.people["olga"].client.get(f"/campaigns/{PANEL}/recruiting/")


@_visit
def _preview_hit(_: Story) -> Any:
    _set_external_question()
    return Person("worker").client.get(f"/annotate/{PANEL}/enter/?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")


@_visit
def _end_assignment(_: Story) -> Any:
    _set_external_question()
    worker = Person("worker")
    place = f"/annotate/{PANEL}/"
    site = "https%3A%2F%2Fworkersandbox.mturk.com"
    worker.client.get(f"{place}enter/?assignmentId=a1&hitId=h1&workerId=w1&turkSubmitTo={site}")
    worker.post(f"{place}agree/", texts="1")
    return _post(worker, f"{place}finish/", outcome="returned")


@_visit
def _frame_without_cookies(_: Story) -> Any:
    _set_external_question()
    return Person("worker").client.get(f"/annotate/{PANEL}/", headers={"Sec-Fetch-Dest": "iframe"})


def _set_external_question() -> None:
    from capeval_server.annotation.models import Campaign
    from capeval_server.annotation.workers import panels

    panels.set_panel(None, Campaign.objects.get(slug=PANEL), {"answers": 2, "external_question": {}})


@_visit
def _set_panel_incorrectly(story: Story) -> Any:
    address = f"/campaigns/{PANEL}/recruiting/"
    values = _get_form(story.people["olga"], address)
    return _post(
        story.people["olga"], address, **values | {"redirect": "http://example.org", "session": "a b"}
    )


@_visit
def _reconcile_panel(story: Story) -> Any:
    lines = (
        "Submission id,Participant id,Status,Completion code",
        "e0,p0,AWAITING REVIEW,BACK",
        "e1,p1,ACTIVE,",
    )
    file = _make_file("export.csv", "\n".join(lines).encode())
    return _post(story.people["olga"], f"/campaigns/{PANEL}/recruiting/reconciliation/", export=file)


@_visit
def _withdraw(story: Story) -> Any:
    return _post(story.people["annotator"], "/annotate/write-campaign/leave/", sure="yes")


@_visit
def _form_of_another_site(_: Story) -> Any:
    from django.test import Client

    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    return client.post("/accounts/login/", {"login": "ann", "password": PASSWORD})


@_visit
def _too_many_attempts(_: Story) -> Any:
    visitor = Person("visitor")
    for _ in range(200):
        answer = _post(visitor, "/accounts/password/reset/", email="nobody@example.org")
        if answer.status_code == 429:
            break
    return answer


@_visit
def _database_fails(_: Story) -> Any:
    from django.db import OperationalError

    return _fail(OperationalError("database is locked"))


@_visit
def _page_fails(_: Story) -> Any:
    return _fail(ValueError("a mistake"))


def _fail(error: Exception) -> Any:
    with patch("django.shortcuts.loader.render_to_string", side_effect=error):
        return Person("visitor").client.get("/")


def _get_form(person: Person, path: str) -> dict[str, Any]:
    """Return the initial values of the form on a page."""
    given = {field.html_name: field.value() for field in person.client.get(path).context["form"]}
    return {name: value for name, value in given.items() if value is not None and value is not False}


def _post(person: Person, path: str, **form: Any) -> Any:
    return person.client.post(path, form, follow=True)


def _make_file(name: str, data: bytes) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = name
    return file
