"""The story: a reproducible server with submissions and campaign answers.

It uses only commands, forms and the API, which are independent of the module structure.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scripts.goldens.accounts import add_second_factor, change_account, sign_up
from scripts.goldens.campaigns import CAMPAIGNS, FINISHED, PANEL, TRAINED, answer_to, campaign_files
from scripts.goldens.commands import succeed
from scripts.goldens.determinism import Clock, reseed
from scripts.goldens.log_lines import LogLines
from scripts.goldens.server import PASSWORD, Person, set_up

__all__ = ["HIDDEN", "RELEASE", "USERS", "Story", "prepare", "run_story"]

USERS = {
    "olga": "organize",
    "ann": "submit",
    "bob": "submit",
    "eve": "submit",
    "fay": "submit",
    "gus": "submit",
    "dan": "read",
    "staff": "read",
}
"""Users with the scopes of their tokens: an organizer, participants (eve is blocked), a user with a changed
account (dan), and staff."""

HIDDEN = "secret"
"""Phase with a hidden leaderboard."""

RELEASE = "1.0"
_CAPTIONS = {
    1: "A dog runs on grass.",
    2: "Two cats on a bed.",
    3: "A red bus on a street.",
    4: "A man rides a wave.",
    5: "Food on a white plate.",
    6: "A train at a station.",
}
_CHALLENGE = """
[[splits]]
name = "shown"
results = "captions_shown_<alg>_results.json"
metrics = ["BLEU", "CIDEr-D"]
sort_by = "CIDEr-D"
references = [{ name = "c1", file = "references_c1.json", public = true }]

[[phases]]
name = "browsed"
opens = 2026-01-01T00:00:00Z
closes = 2036-01-01T00:00:00Z
splits = ["shown"]
quota_per_day = 5
quota_total = 20
leaderboard = "public"

[[phases]]
name = "first"
opens = 2026-01-01T00:00:00Z
closes = 2026-02-01T00:00:00Z
splits = ["val"]
quota_per_day = 5
quota_total = 20
leaderboard = "public"
captions = ["val"]
captions_by = "standing"

[[phases]]
name = "secret"
opens = 2026-06-01T00:00:00Z
closes = 2026-07-01T00:00:00Z
splits = ["val"]
quota_per_day = 5
quota_total = 20
leaderboard = "hidden"
"""
_TEXTS = 'data = "See **below**."\nfaq = "## Why?\\nTo see."\ncontact = "mail@example.org"\n[[splits]]'
_ANNOUNCEMENTS = "challenges/small/organize/announcements"
# No program listens on this port.
_NO_MAIL = {
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "EMAIL_HOST": "127.0.0.1",
    "EMAIL_PORT": 1,
}
# A GIF with one pixel.
_GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00"
    b",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


# Compared by identity, so that it is hashable and can be a cache key.
@dataclass(eq=False)
class Story:
    """The server's state at the end of the story.

    Attributes:
        clock: Clock of the process.
        scratch: Folder for files.
        people: Users and other people by name.
        submissions: Submission ids by method.
        invites: Invitation token of the annotator's browser, by campaign.
        trainee: Unused invitation token of the campaign with a training.
        mails: All sent mails, in order.
        log: Lines of the server's loggers.
    """

    clock: Clock
    scratch: Path
    people: dict[str, Person] = field(default_factory=dict)
    submissions: dict[str, str] = field(default_factory=dict)
    invites: dict[str, str] = field(default_factory=dict)
    trainee: str = ""
    mails: list[Any] = field(default_factory=list)
    log: LogLines = field(init=False, repr=False)

    def step(self, name: str) -> None:
        """Begin a step one minute later, with new random numbers."""
        self.collect_mail()
        self.clock.move(minutes=1)
        reseed(name)

    def collect_mail(self) -> None:
        """Move sent mails to the list."""
        from django.core import mail

        self.mails += mail.outbox
        mail.outbox.clear()

    def work(self) -> None:
        """Run a worker until no jobs are left."""
        self.step(f"work at {self.clock.now}")
        succeed("server", "worker", "--until-empty")
        self.collect_mail()


_prepared: list[tuple[Clock, Path]] = []


def prepare(clock: Clock, scratch: Path) -> None:
    """Set the clock and the folder of the story."""
    _prepared.append((clock, scratch))


@cache
def run_story() -> Story:
    """Run the story once per process, and return its final state."""
    clock, scratch = _prepared[-1]
    set_up(scratch / "data", webhook_hosts="hooks.example.org", metrics="metrics-token-of-the-goldens")
    succeed("server", "migrate")
    story = Story(clock, scratch)
    story.log = LogLines()
    story.log.listen()
    for chapter in (
        _create_users,
        _change_accounts,
        _import_challenge,
        _join_teams,
        _submit,
        _moderate,
        _trigger_failures,
        _finish_phase,
        _annotate,
        _freeze_campaigns,
        _open_campaigns,
    ):
        chapter(story)
    story.collect_mail()
    return story


def _create_users(story: Story) -> None:
    """Create the users."""
    for name, scope in USERS.items():
        story.step(f"meet {name}")
        staff = ("--staff",) if name == "staff" else ()
        email = f"{name}@example.org"
        succeed("server", "user", name, "--email", email, "--password-stdin", *staff, given=f"{PASSWORD}\n")
        token = succeed("server", "token", name, "program", "--scope", scope).strip()
        story.people[name] = Person(name, token)
        story.people[name].sign_in()
    story.people["anonymous"] = Person("anonymous")


def _change_accounts(story: Story) -> None:
    """Change an account in all ways that trigger a mail."""
    story.step("change accounts")
    sign_up()
    change_account(story.people["dan"], story.clock.now)


def _import_challenge(story: Story) -> None:
    """Import the challenge."""
    story.step("challenge")
    path = Path(succeed("server", "example", "small", str(story.scratch / "small")).strip())
    text = path.read_text().replace("[[splits]]", _TEXTS, 1)
    path.write_text(text + _CHALLENGE)
    succeed("server", "import", str(path))
    succeed("server", "organizer", "small", "olga")


def _join_teams(story: Story) -> None:
    """Let teams join the challenge."""
    for name, team in (("ann", "Team A"), ("bob", ""), ("eve", ""), ("fay", ""), ("gus", "")):
        story.step(f"join {name}")
        story.people[name].ask("POST", "challenges/small/team", {"name": team or None, "accept_rules": True})
    story.step("invitation")
    story.people["ann"].ask("POST", "challenges/small/team/invitation", {"days": 7})
    # Sends the mails about opened phases.
    story.work()


def _submit(story: Story) -> None:
    """Submit results: four teams on the leaderboard, and one queued submission."""
    plans = (
        ("ann", "open", "alpha", 0),
        ("ann", "open", "beta", 2),
        ("bob", "open", "gamma", 3),
        ("bob", "first", "delta", 1),
        ("fay", "open", "epsilon", 4),
        ("gus", "open", "zeta", 5),
        ("ann", "browsed", "eta", 2),
    )
    for name, phase, method, wrong in plans:
        _submit_captions(story, name, phase, method, wrong)
    story.work()
    for name, _, method, _ in plans:
        if method == "beta":
            continue
        story.step(f"stand {method}")
        story.people[name].ask("PATCH", f"submissions/{story.submissions[method]}", {"stands": True})
    story.work()
    _submit_captions(story, "ann", "open", "waiting", 1)


def _submit_captions(story: Story, name: str, phase: str, method: str, wrong: int) -> None:
    story.step(f"submit {method}")
    # The first `wrong` images get the caption of the next image.
    captions = {image: _CAPTIONS[image % 6 + 1 if image <= wrong else image] for image in _CAPTIONS}
    entries = [{"image_id": image, "caption": caption} for image, caption in captions.items()]
    file = io.BytesIO(json.dumps(entries).encode())
    file.name = f"captions_{'shown' if phase == 'browsed' else 'val'}_mine_results.json"
    made = story.people[name].ask(
        "POST", f"challenges/small/phases/{phase}/submissions", file=file, method=method
    )
    story.submissions[method] = made["id"]


def _moderate(story: Story) -> None:
    """Perform the actions of organizers."""
    olga = story.people["olga"]
    place = "challenges/small/organize"
    for name, method, path, content in (
        ("webhook", "POST", "webhooks", {"url": "https://hooks.example.org/"}),
        ("announce", "POST", "announcements", {"title": "News", "text": "All is *well*."}),
        (
            "mark",
            "PUT",
            f"submissions/{story.submissions['gamma']}/mark",
            {"mark": "flagged", "reason": "Look again"},
        ),
        ("block", "PUT", "blocks/eve", {"reason": "Spam"}),
        (
            "reported",
            "PUT",
            "splits/val/references/c2/reported/old",
            {
                "title": "Old",
                "content": "team,CIDEr-D\nA,1.5\n",
                "url": "https://example.org/",
                "ranked": True,
            },
        ),
        ("show", "PUT", "phases/open/captions", {"captions": ["val"], "captions_by": "agreed"}),
    ):
        story.step(name)
        olga.ask(method, f"{place}/{path}", content)
    story.step("picture")
    file = io.BytesIO(_GIF)
    file.name = "dot.gif"
    olga.ask("POST", f"{place}/pictures", file=file)
    story.step("raise")
    (team, *_) = [one for one in olga.ask("GET", f"{place}/teams")["teams"] if one["name"] == "Team A"]
    olga.ask("PUT", f"{place}/teams/{team['id']}/raises/open", {"per_day": 1, "total": 2})
    story.step("agree")
    story.people["ann"].ask("PUT", "challenges/small/team/captions", {"shows_captions": True})


def _annotate(story: Story) -> None:
    """Create the campaigns, and let two annotators answer in each."""
    for slug in CAMPAIGNS:
        story.step(f"campaign {slug}")
        path = campaign_files(slug, story.scratch / slug)
        succeed("server", "annotate", "create", str(path), "--manager", "olga")
        succeed("server", "annotate", "state", slug, "open")
        tokens = succeed("server", "annotate", "invite", slug, "--number", "3").split()
        story.invites[slug] = tokens[2]
        if slug == TRAINED:
            story.trainee = tokens[0]
            continue
        for number, token in enumerate(tokens[:2]):
            story.step(f"answer {slug} {number}")
            _answer_all(slug, Person(f"worker {number}", token))
    panel = story.scratch / "panel.toml"
    panel.write_text('name = "prolific"\nstudies = ["s1"]\nanswers = 2\n[codes]\nreturned = "BACK"\n')
    succeed("server", "annotate", "panel", PANEL, str(panel))


def _answer_all(slug: str, worker: Person) -> None:
    texts = worker.ask("GET", f"annotate/{slug}")["texts"]["number"]
    worker.ask("POST", f"annotate/{slug}/agree", {"texts": texts})
    for item in _request_items(slug, worker):
        sent = {"answer": answer_to(item["kind"], item["shown"]), "key": item["lease"]}
        worker.ask("POST", f"annotate/{slug}/items/{item['lease']}/answer", sent)


def _request_items(slug: str, worker: Person) -> Iterator[dict[str, Any]]:
    """Yield the items of at most two batches."""
    for _ in range(2):
        yield from worker.ask("POST", f"annotate/{slug}/next")["items"]


def _freeze_campaigns(story: Story) -> None:
    """Close the finished campaigns and freeze a release of each."""
    for slug in FINISHED:
        story.step(f"freeze {slug}")
        succeed("server", "annotate", "state", slug, "closed")
        succeed("server", "annotate", "freeze", slug, RELEASE)


def _open_campaigns(story: Story) -> None:
    """Let an annotator open all campaigns in a browser, and sign in all others."""
    story.step("be at work")
    annotator = story.people["annotator"] = Person("annotator")
    for slug, token in story.invites.items():
        annotator.client.get(f"/annotate/{slug}/enter/{token}/")
        if slug not in FINISHED:
            annotator.post(f"/annotate/{slug}/agree/", texts="1")
            annotator.see(f"/annotate/{slug}/")
    # The annotator also uses a program in one campaign.
    annotator.token = story.invites["write-campaign"]
    for name in ("olga", "ann", "bob", "staff"):
        story.people[name].sign_in()
    # Not the organizer, so that the pages that request the password are recorded as well.
    for name in ("ann", "bob", "staff"):
        story.people[name].confirm_password()
    add_second_factor(story.people["bob"], story.clock.now)


def _trigger_failures(story: Story) -> None:
    """Trigger failures in scoring, mail and a page, which the server reports."""
    from django.test import override_settings

    before = set(_list_stored_files(story))
    _submit_captions(story, "bob", "open", "broken", 1)
    (stored,) = set(_list_stored_files(story)) - before
    stored.write_text("[")
    with override_settings(MAX_ATTEMPTS=1, RETRY_SECONDS=0):
        story.work()
    story.step("fail")
    story.people["olga"].ask("POST", _ANNOUNCEMENTS, {"title": "Late", "text": "A text"})
    with override_settings(**_NO_MAIL):
        story.work()
        Person("visitor").client.post("/accounts/password/reset/", {"email": "ann@example.org"})
    from django.db import OperationalError

    with patch(
        "django.shortcuts.loader.render_to_string", side_effect=OperationalError("database is locked")
    ):
        Person("visitor").client.get("/")


def _list_stored_files(story: Story) -> list[Path]:
    return sorted((story.scratch / "data" / "files").rglob("*.json"))


def _finish_phase(story: Story) -> None:
    """Make the results of the first phase final, and export the challenge."""
    story.clock.now = story.clock.now.replace(day=31, hour=12)
    # Sends the mails about phases that close soon.
    story.work()
    story.clock.move(days=40)
    story.step("final")
    story.people["olga"].ask("PUT", "challenges/small/organize/phases/first/final")
    story.step("export")
    story.people["olga"].ask("POST", "challenges/small/organize/export")
    story.work()
    _submit_captions(story, "bob", "open", "queued", 1)
