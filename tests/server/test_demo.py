"""The demo: its port and password, its campaigns, and the robots in them, on a few captions.

That all of the real data is loaded and works is `tests/conformance/test_demo_server.py`.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from capeval.data.captions import ImageId
from capeval.studies.judging import HUMAN, RANDOM
from capeval_server.accounts.models import Token
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import Assignment, Campaign, Item, Participation, Response
from capeval_server.annotation.releases.human_columns import columns_of
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TASKS
from capeval_server.annotation.task_types.base import TEXTS
from capeval_server.challenges.models import Challenge
from examples.demo_server import campaigns, cards, loading, opinions, robots
from examples.demo_server.material import Material
from tests.server.kit import make_challenge
from tests.server.processes import PROJECT, Server
from tests.waiting import PATIENCE, wait_until

# What people wrote of images, and what is on their cards.
CAPTIONS: dict[ImageId, list[str]] = {
    number: [
        # Different images have no word in common, but for little ones.
        f"A {color} {thing} is by the {place}.",
        f"The {thing} at the {place}, and on it a {color} {place}.",
        f"A {thing} in {color} next to its {place}.",
        f"This is the {thing} of a {color} {place}.",
        f"A {color} {thing} with a {place} by it.",
    ]
    for number, (color, thing, place) in enumerate(
        [
            ("red", "bus", "station"),
            ("blue", "chair", "table"),
            ("green", "boat", "beach"),
            ("white", "horse", "fence"),
            ("black", "cat", "window"),
            ("brown", "dog", "door"),
            ("yellow", "kite", "tree"),
            ("gray", "truck", "bridge"),
            ("pink", "cake", "plate"),
            ("purple", "umbrella", "bench"),
        ],
        start=1,
    )
}
NOUNS = frozenset(text.rstrip(".").split()[place] for text, *_ in CAPTIONS.values() for place in (2, 6))


def _material() -> Material:
    machines: dict[str, dict[ImageId, str]] = {
        "first-words": {image: " ".join(texts[0].split()[:4]).lower() for image, texts in CAPTIONS.items()},
        "one-sentence": dict.fromkeys(CAPTIONS, "a man on a street"),
    }
    return Material(captions=CAPTIONS, machines=machines, things=cards.find_things(CAPTIONS, NOUNS))


@pytest.fixture
def made(tmp_path: Path) -> Challenge:
    """The small challenge with the demo's campaigns."""
    challenge = make_challenge(tmp_path)
    organizer = User.objects.create(username="olga", is_staff=True)
    campaigns.create_missing(organizer, challenge, _material())
    return challenge


@pytest.mark.parametrize("command", ["start", "demo"])
def test_a_port_that_is_taken_is_said_before_anything_is_made(fresh: Server, command: str) -> None:
    started = fresh.command("start")
    if command == "demo":
        started = [sys.executable, "-m", "examples.demo_server", "--folder", str(fresh.folder / "demo")]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*started, "--port", port],
            env=fresh.env,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"can't listen on 127.0.0.1, port {port} (Address already in use)" in done.stderr
    assert not (fresh.folder / "demo").exists()
    assert not (fresh.folder / "data").exists()


@pytest.mark.django_db
def test_the_first_password_is_kept(tmp_path: Path) -> None:
    challenge = make_challenge(tmp_path, slug="coco-2015")
    kept = tmp_path / "password"
    first = loading.get_password(kept)
    assert first
    assert loading.get_password(kept) == first == kept.read_text().strip()
    assert kept.stat().st_mode & 0o777 == 0o600
    user = User.objects.get(username=loading.ACCOUNT)
    assert user.check_password(first)
    assert list(challenge.organizers.all()) == [user]
    user.set_password("what its user chose")
    user.save()
    assert loading.get_password(kept) is None
    # If the file is lost, there is a new password.
    kept.unlink()
    assert loading.get_password(kept) not in (None, first)


def test_there_is_a_campaign_of_each_kind_and_each_text() -> None:
    assert {demo.kind for demo in campaigns.DEMOS} == set(TASKS)
    texts = {demo.text or TASKS[demo.kind].texts[0] for demo in campaigns.DEMOS}
    assert texts == {path.stem for path in TEXTS.glob("*.md")}
    # Each says what works in it.
    assert all("obots" in demo.title for demo in (*campaigns.DEMOS, *campaigns.FINISHED))


def test_a_card_names_what_several_captions_name() -> None:
    captions: dict[ImageId, list[str]] = {
        1: ["Two dogs run.", "A dog runs in front of a house.", "The dogs near a big house."],
        2: ["A cat."],
        # Named once as one, and once as several.
        3: ["A cat.", "Some cats."],
    }
    nouns = frozenset({"dog", "dogs", "house", "front", "cat", "cats"})
    assert cards.find_things(captions, nouns) == {1: ["dogs", "house"], 2: [], 3: ["cats"]}


@pytest.mark.django_db
def test_robots_pass_checks_and_the_careless_one_does_not(made: Challenge) -> None:
    demos = [demo.slug for demo in (*campaigns.DEMOS, *campaigns.FINISHED) if "check_every" in demo.options]
    assert len(demos) == 10
    for campaign in Campaign.objects.filter(challenge=made, slug__in=demos):
        task, passed = TASKS[campaign.kind], Counter[str]()
        # Repeated items are not judged.
        checks = campaign.items.filter(is_check=True, repeats=None)
        assert checks
        for item in checks:
            captions = CAPTIONS[int(campaigns.get_image_id(item.image.name))] if item.image else []
            for mirrored in (False, True):
                shown = task.shown(item.payload, mirrored=mirrored)
                seen = opinions.SeenItem(shown=shown, captions=captions, rng=random.Random(item.pk))
                for name, answer in (
                    ("robot", opinions.make_answer(campaign.kind, seen)),
                    ("careless", opinions.make_careless_answer(campaign.kind)),
                ):
                    stored = task.answer(item.payload, answer, mirrored=mirrored)
                    passed[name] += task.agrees(stored, item.expected)
        assert passed["robot"] >= 0.95 * 2 * len(checks), campaign.kind
        assert passed["careless"] <= len(checks), campaign.kind


@pytest.mark.django_db
def test_a_block_leaves_no_campaign_stuck(made: Challenge) -> None:
    olga = User.objects.get(username="olga")
    for demo in campaigns.FINISHED:
        campaign = change_state(olga, Campaign.objects.get(slug=demo.slug), "open", reason="a block")
        robots = {one.worker.pseudonym: one for one in campaign.participations.select_related("worker")}
        moderation.block(olga, robots.pop(campaigns.CARELESS), "careless")
        assert get_progress(campaign).finished < get_progress(campaign).items
        # The other robots provide the missing answers.
        for robot in robots.values():
            while campaigns._answer_all(robot, _material()):
                pass
        assert get_progress(campaign).finished == get_progress(campaign).items


@pytest.mark.django_db
def test_two_campaigns_are_finished_and_columns(made: Challenge) -> None:
    finished = Campaign.objects.filter(slug__in=[demo.slug for demo in campaigns.FINISHED])
    assert {each.state for each in finished} == {Campaign.State.CLOSED}
    for each in finished:
        assert list(audit(each)) == []
        workers = each.participations.values_list("worker__pseudonym", flat=True)
        assert set(workers) == set(campaigns.ROBOTS)
    columns = {column.question: column for column in columns_of(made)}
    assert {"M1", "wins"} <= set(columns)
    assert {column.release for column in columns.values()} == {"by-robots"}
    judged = columns["M1"]
    assert not judged.missing
    assert set(judged.scores) == {HUMAN, RANDOM, "first-words", "one-sentence"}
    # If all agree, alpha is undefined.
    assert any(score.alpha is not None for score in judged.scores.values())
    assert all(score.low <= score.value <= score.high for score in judged.scores.values())
    # Human captions rank above captions of other images.
    assert judged.scores[HUMAN].value > judged.scores[RANDOM].value


@pytest.mark.django_db
def test_a_second_start_makes_nothing_twice(made: Challenge) -> None:
    def counts() -> list[int]:
        return [table.objects.count() for table in (Campaign, Item, Response, Participation, User)]

    before = counts()
    assert campaigns.all_exist()
    campaigns.create_missing(User.objects.get(username="olga"), made, _material())
    assert counts() == before
    # The tokens of the last start end.
    first = robots.make_brief("127.0.0.1", 80, Path("captions"))
    second = robots.make_brief("0.0.0.0", 80, Path("captions"))
    assert Token.of_text(first.tokens["robot-1"]) is None
    assert Token.of_text(second.tokens["robot-1"]) is not None
    assert second.host == "127.0.0.1"


def _asking(token: str) -> robots.Ask:
    """Send a request to the API in this process."""
    client = Client(headers={"Authorization": f"Bearer {token}"})

    def ask(method: str, place: str, content: Mapping[str, Any] | None = None) -> Any:
        data = "" if content is None else json.dumps(content)
        answer = client.generic(method, place, data, "application/json")
        if answer.status_code >= 400:
            raise robots.RefusedError(answer.content)
        return answer.json()

    return ask


@pytest.mark.django_db
def test_robots_leave_a_part_of_each_campaign_to_people(made: Challenge) -> None:
    # Those that robots are to work in; the others are paused, and nobody is to ask for their items.
    wanted = ("robots-write-nocaps", "robots-triplet", "robots-m3")
    for campaign in Campaign.objects.filter(challenge=made, state="open").exclude(slug__in=wanted):
        change_state(None, campaign, Campaign.State.PAUSED)
    told = robots.make_brief("127.0.0.1", 80, Path("captions"))
    captions = {str(image): texts for image, texts in CAPTIONS.items()}
    crowd = [robots.Robot(name, _asking(token), captions, 0.0, 1) for name, token in told.tokens.items()]
    # Until all of them wait at once.
    while min(map(robots.Robot.step, crowd)) == 0:
        pass
    opened = list(Campaign.objects.filter(challenge=made, state="open"))
    assert {campaign.slug for campaign in opened} == set(wanted)
    for campaign in opened:
        far = get_progress(campaign)
        # Each of them may hold a batch when the part is reached.
        assert 0.5 * far.wanted < far.counted <= robots.SHARE * far.wanted + 5 * len(crowd), campaign.slug
    careless = Participation.objects.filter(worker__pseudonym=campaigns.CARELESS)
    stopped = {Participation.Stage.PAUSED, Participation.Stage.SCREENED_OUT}
    assert set(careless.values_list("stage", flat=True)) & stopped
    others = Participation.objects.exclude(worker__pseudonym=campaigns.CARELESS)
    assert not set(others.values_list("stage", flat=True)) & stopped
    assert Assignment.objects.filter(state=Assignment.State.SKIPPED).exists()
    working = Participation.objects.exclude(campaign__state=Campaign.State.CLOSED)
    assert set(working.values_list("campaign__slug", flat=True)) == set(wanted)
    for campaign in opened:
        assert list(audit(campaign)) == []


# Real processes

MAKE = """
from pathlib import Path
from django.contrib.auth.models import User
from capeval_server.challenges.models import Challenge
from examples.demo_server import campaigns
from examples.demo_server.material import save_captions
from tests.server.test_demo import _material
organizer = User.objects.create(username="organizer", is_staff=True)
campaigns.create_missing(organizer, Challenge.objects.get(), _material())
save_captions(_material(), Path(sys.argv[1]))
"""
BRIEF = """
from dataclasses import replace
from pathlib import Path
from examples.demo_server import robots
told = robots.make_brief("127.0.0.1", int(sys.argv[1]), Path(sys.argv[2]))
replace(told, seconds=float(sys.argv[3])).tell(sys.stdout.buffer)
"""
COUNTED = """
SELECT COUNT(slot.filled_by_id) FROM annotation_slot slot JOIN annotation_item item ON item.id = slot.item_id
JOIN annotation_campaign campaign ON campaign.id = item.campaign_id WHERE campaign.state = 'open'
"""


class Demo:
    """A server with the demo's campaigns, and robots."""

    def __init__(self, server: Server) -> None:
        self.server, self.captions = server, server.folder / "robots.json"
        server.prepare()
        server.env["PYTHONPATH"] += os.pathsep + str(PROJECT)
        server.python(MAKE, str(self.captions))
        server.start()

    def start_robots(self, seconds: float = 0.02) -> subprocess.Popen[bytes]:
        told = self.server.python(BRIEF, str(self.server.port), str(self.captions), str(seconds))
        with (self.server.folder / "robots").open("ab") as log:
            started = subprocess.Popen(
                [sys.executable, "-m", "examples.demo_server.robot_process"],
                env=self.server.env | {"DJANGO_SETTINGS_MODULE": "capeval_server.config.settings"},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                process_group=0,
            )
        self.server.processes.append(started)
        assert started.stdin is not None
        started.stdin.write(told.encode())
        started.stdin.flush()
        return started

    def end(self, started: subprocess.Popen[bytes]) -> None:
        assert started.stdin is not None
        started.stdin.close()
        assert started.wait() == 0
        assert self.log == ""

    def counted(self) -> int:
        """How many answers count in the campaigns that are open."""
        path = self.server.folder / "data" / "capeval.sqlite3"
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            return int(connection.execute(COUNTED).fetchone()[0])

    @property
    def log(self) -> str:
        return (self.server.folder / "robots").read_text()


def test_robots_work_and_end_with_the_demo(fresh: Server) -> None:
    demo = Demo(fresh)
    assert demo.counted() == 0
    first = demo.start_robots()
    # A server that is away, as it is killed here, is waited for.
    wait_until(lambda: demo.counted() > 10, lambda: demo.log)
    fresh.kill_server()
    fresh.start_again()
    before = demo.counted()
    wait_until(lambda: demo.counted() > before + 10, lambda: demo.log)
    # The end of their input ends them, as when the demo was killed.
    assert first.poll() is None, demo.log
    demo.end(first)
    # The next start continues with the same workers.
    before = demo.counted()
    second = demo.start_robots()
    wait_until(lambda: demo.counted() > before, lambda: demo.log)
    demo.end(second)
    assert all(line.endswith("no problems found") for line in fresh.run("annotate", "audit").splitlines())
