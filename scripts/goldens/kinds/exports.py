"""Golden of the exports: leaderboard, challenge, campaign answers, releases."""

from __future__ import annotations

import io
import zipfile
from hashlib import sha256
from pathlib import Path

from scripts.goldens import story
from scripts.goldens.campaigns import FINISHED
from scripts.goldens.registry import Golden, register
from scripts.goldens.server import Person, undone


def _write(folder: Path) -> None:
    olga = story.run_story().people["olga"]
    board = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2&format=csv"
    (folder / "leaderboard.csv").write_bytes(_download(olga, board))
    _unpack(_download(olga, "/small/organize/export/"), folder / "challenge")
    _unpack(_download(olga, "/campaigns/finished-pairs/results.zip"), folder / "answers")
    (folder / "payments.csv").write_bytes(_download(olga, "/campaigns/reviewed/payments.csv"))
    for slug in FINISHED:
        _unpack(
            _download(olga, f"/campaigns/{slug}/releases/{story.RELEASE}/files.zip"),
            folder / f"release-{slug}",
        )


def _download(person: Person, address: str) -> bytes:
    with undone():
        answer = person.client.get(address)
        data = b"".join(answer) if answer.streaming else answer.content
    if answer.status_code != 200:
        raise RuntimeError(f"{address}: status {answer.status_code}\n{data.decode(errors='replace')[:2000]}")
    return bytes(data)


def _unpack(data: bytes, folder: Path) -> None:
    """Write the files of a zip, and a list of its members with size, digest and time."""
    lines = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for one in archive.infolist():
            content = archive.read(one)
            when = "-".join(f"{part:02}" for part in one.date_time)
            lines.append(f"{one.filename}  {one.file_size} bytes  {sha256(content).hexdigest()}  {when}\n")
            if not one.is_dir() and _is_text(content):
                path = folder / one.filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    folder.mkdir(exist_ok=True)
    (folder / "members.txt").write_text("".join(lines))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


register(Golden(name="exports", about="exports and releases", write=_write, process="server"))
