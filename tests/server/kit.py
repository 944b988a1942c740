"""Helpers that create the small challenge and users of the server."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import worker
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Team
from capeval_server.teams.services.enrollment import make_team

__all__ = [
    "CAPTIONS",
    "MARKER",
    "MARKUP",
    "METRICS",
    "RESULTS",
    "Participant",
    "Someone",
    "make_challenge",
    "results",
    "write_challenge",
    "zipped",
]

CAPTIONS = {
    1: "A dog runs on grass.",
    2: "Two cats on a bed.",
    3: "A red bus on a street.",
    4: "A man rides a wave.",
    5: "Food on a white plate.",
    6: "A train at a station.",
}
RESULTS = "captions_val_mine_results.json"
# Metrics of the small challenge.
METRICS = ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"]
# Is in each private reference, and must be in no answer.
MARKER = "Xylomarker"
MARKUP = "<script>alert(1)</script>"


def results(captions: dict[int, str] | None = None) -> bytes:
    """A file of results of the small challenge."""
    entries = (captions or CAPTIONS).items()
    return json.dumps([{"image_id": image, "caption": text} for image, text in entries]).encode()


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def write_challenge(folder: Path, *, slug: str = "small", marker: str = MARKER, human: bool = False) -> Path:
    """Write the small challenge with marked private references, by default without its human baseline.

    The baseline is a submission too, which most tests do without.
    """
    path = write_example("small", folder)
    text = path.read_text().replace('slug = "small"', f'slug = "{slug}"')
    path.write_text(text if human else re.sub(r', human = "[^"]*"', "", text))
    references = folder / "references_c2.json"
    marked = {
        image: [*captions, f"{marker} {captions[0]}"]
        for image, captions in json.loads(references.read_text()).items()
    }
    references.write_text(json.dumps(marked))
    return path


def make_challenge(folder: Path, **about: Any) -> Challenge:
    """The challenge that `write_challenge` writes."""
    return import_challenge(write_challenge(folder, **about))


def code_of(team: Team) -> str:
    """The code with which others join a team."""
    assert team.code
    return team.code


def codes() -> list[str]:
    """The codes of all teams that have one."""
    return [code_of(team) for team in Team.objects.exclude(code=None)]


class Someone:
    """A user with a browser that is logged in, and with programs that have tokens."""

    def __init__(self, name: str, **kind: Any) -> None:
        self.user = User.objects.create(username=name, **kind)
        self.client = Client()
        self.client.force_login(self.user)
        # By their scopes.
        self.tokens: dict[str, str] = {}

    def see(self, path: str, status: int = 200) -> str:
        """The page at an address."""
        answer = self.client.get(path)
        assert answer.status_code == status, answer.content
        return answer.content.decode()

    def do(self, path: str, status: int = 302, **form: Any) -> Any:
        """The answer to a form."""
        answer = self.client.post(path, form)
        assert answer.status_code == status, answer.content
        return answer

    def program(self, scope: str) -> Client:
        """Return an API client with a token of this scope."""
        if scope not in self.tokens:
            self.tokens[scope] = Token.issue(self.user.pk, f"to {scope}", scope)
        return Client(headers={"Authorization": f"Bearer {self.tokens[scope]}"})

    def read(self, path: str, scope: str = "submit") -> Any:
        """Return the parsed JSON response of an API address."""
        answer = self.program(scope).get(path)
        assert answer.status_code == 200, answer.content
        return answer.json()


class Participant(Someone):
    """A participant of the small challenge, in a team of one."""

    def __init__(self, name: str, team: str = "", **kind: Any) -> None:
        super().__init__(name, **kind)
        self.team = make_team(self.user, Challenge.objects.get(slug="small"), team)
        self.api = self.program("submit")

    def submit(
        self,
        data: bytes | None = None,
        /,
        *,
        key: str | None = None,
        by: Any = None,
        **declared: str,
    ) -> Any:
        """The answer of the API to results that are sent to it, maybe by another member of the team."""
        file = SimpleUploadedFile(RESULTS, results() if data is None else data)
        return (by.program("submit") if by else self.api).post(
            "/api/challenges/small/phases/open/submissions",
            {"method": "m", **declared, "file": file},
            headers={} if key is None else {"Idempotency-Key": key},
        )

    def submitted(self, **declared: str) -> Submission:
        """A submission that waits."""
        answer = self.submit(**declared)
        assert answer.status_code == 201, answer.content
        return Submission.objects.get(pk=answer.json()["id"])

    def scored(self, *, stands: bool = False, **declared: str) -> Submission:
        """A submission that is scored."""
        submission = self.submitted(**declared)
        assert worker.work_once()
        Submission.objects.filter(pk=submission.pk).update(stands=stands)
        return Submission.objects.get(pk=submission.pk)

    def stand(self, submission: str, stands: bool | None = True) -> Any:
        """The answer of the API to putting a submission on the leaderboard, or taking it off.

        None drops the choices of the team.
        """
        return self.api.patch(
            f"/api/submissions/{submission}", {"stands": stands}, content_type="application/json"
        )
