"""Mails: subject, headers and body of each kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from scripts.goldens import story
from scripts.goldens.masks import mask
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    for mail in story.tell().mails:
        name = re.sub(r"\W+", "-", mail.subject.lower()).strip("-")
        path = folder / f"{name}.txt"
        if not path.exists():
            path.write_text(mask(_text(mail)))


def _text(mail: Any) -> str:
    about = {"From": mail.from_email, "To": ", ".join(mail.to), "Subject": mail.subject, **mail.extra_headers}
    head = "".join(f"{name}: {value}\n" for name, value in about.items())
    others = [f"--- {kind}\n{content}\n" for content, kind in getattr(mail, "alternatives", [])]
    return f"{head}\n{mail.body.strip()}\n{''.join(others)}"


register(Golden(name="mails", about="mails", write=_write, process="server"))
