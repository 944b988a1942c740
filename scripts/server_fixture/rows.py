"""Rows for tables that are empty after the story of the goldens."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.goldens.campaigns import STUDY, answer_to
from scripts.goldens.commands import succeed
from scripts.goldens.server import PASSWORD, Person
from scripts.goldens.story import Story

__all__ = ["add_rows"]

_JUDGED = "judged"
_CHOSEN = "chosen"
_PANEL = "m2-campaign"
_SYSTEMS = ("system-1", "system-2", "system-3")
_OTHER = "A man rides a big wave on a board."
_COMMON = {"batch": 2, "repeat_every": 0, "review_every": 0, "review_first": 0, **STUDY}
_SETTINGS: dict[str, Mapping[str, Any]] = {
    _JUDGED: {
        **_COMMON,
        "answers": 3,
        "curtail": True,
        "check_every": 1,
        "repeat_every": 1,
        "reports_to_hold": 1,
        "training_items": 1,
        "training_right": 1,
    },
    _CHOSEN: {**_COMMON, "answers": 1, "check_every": 0, "next_pairs": 3},
}
_IMAGES = {
    "images": [
        {"id": 1, "file_name": "one.jpg", "width": 640, "height": 480, "license": 1},
        *({"id": image, "file_name": f"{image}.jpg"} for image in range(2, 7)),
    ],
    "licenses": [{"id": 1, "name": "CC BY 2.0", "url": "https://licenses.example.org/by"}],
}


def add_rows(story: Story) -> None:
    """Continue the story until each table of the server has rows."""
    for chapter in (
        _add_challenge,
        _leave_teams,
        _send_invalid_upload,
        _create_judged_campaign,
        _create_adaptive_campaign,
        _review_answers,
        _draft_and_report,
        _block_annotators,
        _enter_from_panel,
        _add_pending_rows,
        _mask_paths,
    ):
        chapter(story)
    story.collect_mail()


def _add_challenge(story: Story) -> None:
    """Import a challenge with a list of images and constraints on captions."""
    story.step("second challenge")
    path = Path(succeed("server", "example", "small", str(story.scratch / "second")).strip())
    subsets = 'subsets = "subsets.json"'
    text = path.read_text().replace(
        subsets, f'images = "images.json"\nconstraints = "objects.json"\n{subsets}'
    )
    path.write_text(text.replace('slug = "small"', 'slug = "second"\napproval = true'))
    (path.parent / "images.json").write_text(json.dumps(_IMAGES))
    objects = [{"image_id": 1, "constraints": [{"name": "dog", "phrases": ["dog", "dogs"]}]}]
    (path.parent / "objects.json").write_text(json.dumps(objects))
    succeed("server", "import", str(path))
    story.people["bob"].ask("POST", "challenges/second/team", {"name": "team-2", "accept_rules": True})


def _leave_teams(story: Story) -> None:
    """Let two users submit; one leaves the team, the other's account is deleted."""
    from django.contrib.auth.models import User

    for name in ("former", "deleted"):
        story.step(f"join {name}")
        succeed(
            "server",
            "user",
            name,
            "--email",
            f"{name}@example.org",
            "--password-stdin",
            given=f"{PASSWORD}\n",
        )
        person = Person(name, succeed("server", "token", name, "program", "--scope", "submit").strip())
        person.ask("POST", "challenges/small/team", {"name": f"team-{name}", "accept_rules": True})
        person.ask(
            "POST",
            "challenges/small/phases/open/submissions",
            file=_make_captions_file("A dog."),
            method=name,
        )
        story.work()
        if name == "former":
            person.ask("DELETE", "challenges/small/team")
        else:
            User.objects.get(username=name).delete()


def _make_captions_file(caption: str) -> io.BytesIO:
    entries = [{"image_id": image, "caption": caption} for image in range(1, 7)]
    file = io.BytesIO(json.dumps(entries).encode())
    file.name = "captions_val_mine_results.json"
    return file


def _send_invalid_upload(story: Story) -> None:
    """Send an upload that the server rejects."""
    story.step("refuse")
    file = io.BytesIO(b"[")
    file.name = "captions_val_mine_results.json"
    bob = story.people["bob"]
    answer = bob.client.post(
        "/api/challenges/small/phases/open/submissions", {"file": file, "method": "m"}, headers=bob.headers
    )
    if answer.status_code != 422:
        raise RuntimeError(f"the upload was not rejected: status {answer.status_code}")


def _create_judged_campaign(story: Story) -> None:
    """Create a campaign with training, checks and repeats; answer as two annotators."""
    known = {"expected": {"choice": "first"}}
    items = [
        {
            "key": f"training-{number}",
            **_make_texts(number),
            **known,
            "training": True,
            "explanation": "Look.",
        }
        for number in range(4)
    ]
    items += [{"key": f"check-{number}", **_make_texts(number), **known} for number in range(4)]
    items += [
        {"key": f"item-{number}", "group": f"{number // 2}", **_make_texts(number)} for number in range(4)
    ]
    for item in items:
        item["reference"] = "A dog plays outside."
    for worker in _create_campaign(story, _JUDGED, "triplet", items, number=2):
        _answer_batches(_JUDGED, worker, batches=4)


def _create_adaptive_campaign(story: Story) -> None:
    """Create a campaign with adaptive pair selection, and answer as two annotators."""
    pairs = [(0, 1), (1, 2), (2, 0)]
    items = [
        {
            "key": f"{image}-{first}-{second}",
            "group": f"{image}",
            "image_id": f"{image}",
            "first_by": _SYSTEMS[first],
            "second_by": _SYSTEMS[second],
            **_make_texts(image),
        }
        for image in range(4)
        for first, second in pairs
    ]
    for worker in _create_campaign(story, _CHOSEN, "pairwise", items, number=2):
        _answer_batches(_CHOSEN, worker, batches=2)


def _make_texts(number: int) -> dict[str, Any]:
    return {"first": f"A dog runs in field {number}.", "second": _OTHER}


def _create_campaign(
    story: Story, slug: str, kind: str, items: list[dict[str, Any]], *, number: int
) -> list[Person]:
    """Create and open a campaign; return annotators that have agreed to its texts."""
    story.step(f"campaign {slug}")
    folder = story.scratch / slug
    folder.mkdir()
    if kind == "pairwise":
        _draw(folder / "images")
        items = [{**item, "image": "1.png"} for item in items]
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    about = {"slug": slug, "title": f"A campaign ({slug})", "kind": kind, "items": "items.jsonl"}
    about |= {"images": "images"} if kind == "pairwise" else {}
    lines = ["[campaign]", *(f"{key} = {json.dumps(value)}" for key, value in about.items())]
    lines += ["[settings]", *(f"{key} = {json.dumps(value)}" for key, value in _SETTINGS[slug].items())]
    (folder / "campaign.toml").write_text("\n".join(lines))
    succeed("server", "annotate", "create", str(folder / "campaign.toml"), "--manager", "olga")
    succeed("server", "annotate", "state", slug, "open")
    tokens = succeed("server", "annotate", "invite", slug, "--number", str(number)).split()
    return [_agree(slug, Person(f"worker {place}", token)) for place, token in enumerate(tokens)]


def _draw(folder: Path) -> None:
    from PIL import Image

    folder.mkdir()
    Image.new("RGB", (64, 48), (60, 180, 60)).save(folder / "1.png")


def _agree(slug: str, worker: Person) -> Person:
    texts = worker.ask("GET", f"annotate/{slug}")["texts"]["number"]
    worker.ask("POST", f"annotate/{slug}/agree", {"texts": texts})
    return worker


def _answer_batches(slug: str, worker: Person, *, batches: int) -> None:
    """Answer the items of some batches, and continue after the training."""
    for _ in range(batches):
        batch = worker.ask("POST", f"annotate/{slug}/next")
        for item in batch["items"]:
            sent = {"answer": answer_to(item["kind"], item["shown"]), "key": item["lease"]}
            worker.ask("POST", f"annotate/{slug}/items/{item['lease']}/answer", sent)
        if batch["training"]:
            worker.ask("POST", f"annotate/{slug}/training")


def _review_answers(story: Story) -> None:
    """Accept one answer, reject another, and import known captions."""
    story.step("review")
    olga = story.people["olga"]
    waiting = olga.ask("GET", "campaigns/reviewed/reviews")["answers"]
    verdicts = ({"verdict": "fine"}, {"verdict": "rejected", "reason": "nonsense", "note": "Not a sentence."})
    for one, verdict in zip(waiting, verdicts, strict=False):
        olga.ask("POST", f"campaigns/reviewed/reviews/{one['id']}", verdict)
    path = story.scratch / "known.json"
    path.write_text(json.dumps([{"image_id": 1, "caption": "A dog runs on grass."}]))
    succeed("server", "annotate", "known", "reviewed", str(path), "--any-image")


def _draft_and_report(story: Story) -> None:
    """Save a draft of an answer and report an item."""
    story.step("set aside")
    annotator, place = story.people["annotator"], "annotate/write-campaign"
    (first, second) = annotator.ask("POST", f"{place}/next")["items"]
    annotator.ask("PUT", f"{place}/items/{first['lease']}/draft", {"content": {"caption": "A dog runs"}})
    annotator.ask(
        "POST", f"{place}/items/{second['lease']}/report", {"reason": "not loading", "note": "Gray"}
    )


def _block_annotators(story: Story) -> None:
    """Block two annotators and lift one of the blocks."""
    story.step("exclude")
    olga, place = story.people["olga"], "campaigns/pairwise-campaign/workers"
    one, other, *_ = olga.ask("GET", place)["workers"]
    for worker in (one, other):
        olga.ask("POST", f"{place}/{worker['pseudonym']}/block", {"reason": "Answers at random"})
    olga.ask("POST", f"{place}/{other['pseudonym']}/lift", {"reason": "A mistake"})


def _enter_from_panel(story: Story) -> None:
    """Let two annotators enter from a panel; one finishes, the other withdraws."""
    story.step("panel")
    path = story.scratch / "panel.toml"
    path.write_text('name = "panel"\nanswers = 1\n')
    succeed("server", "annotate", "panel", _PANEL, str(path))
    for name in ("panel-1", "panel-2"):
        parameters = {"PROLIFIC_PID": name, "STUDY_ID": "study", "SESSION_ID": f"session-{name}"}
        made = Person(name).ask("POST", f"annotate/{_PANEL}/enter", {"parameters": parameters})
        worker = _agree(_PANEL, Person(name, made["token"]))
        _answer_batches(_PANEL, worker, batches=1)
        if name == "panel-2":
            worker.ask("POST", f"annotate/{_PANEL}/withdraw")


def _add_pending_rows(story: Story) -> None:
    """Add pending rows: for a worker, a user and an e-mail confirmation."""
    from django.contrib.auth.models import User

    from capeval_server.jobs.models import Worker
    from capeval_server.notifications.models import Mail

    story.step("wait")
    ann = story.people["ann"]
    ann.post("/notices/", submissions="on", announcements="on")
    form = {"username": "newcomer", "email": "newcomer@example.org"}
    Person("newcomer").post("/accounts/signup/", **form, password1=PASSWORD, password2=PASSWORD)
    announcement = {"title": "Soon", "text": "The next phase."}
    story.people["olga"].ask("POST", "challenges/small/organize/announcements", announcement)
    Mail.objects.create(user=User.objects.get(username="ann"), subject="Waiting", text="A mail that waits.")
    # Simulates a worker that was killed.
    Worker.objects.create(name="host:1")


def _mask_paths(_: Story) -> None:
    """Replace the paths of this machine in the logs of failed submissions."""
    from capeval_server.submissions.models import Submission

    for submission in Submission.objects.exclude(log=""):
        log = re.sub(r"/\S*/capeval-worker-\w+", "/capeval-worker", submission.log)
        submission.log = re.sub(r'"/\S*/(src|lib)/', r'"/opt/capeval/\1/', log)
        submission.save(update_fields=["log"])
