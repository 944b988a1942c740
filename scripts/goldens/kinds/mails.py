"""Golden of the mails: subject, headers and body of each kind."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from scripts.goldens import story
from scripts.goldens.masks import mask
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    bodies: dict[str, list[str]] = defaultdict(list)
    for mail in story.run_story().mails:
        name = re.sub(r"\W+", "-", mail.subject.lower()).strip("-")
        body = mask(_format_body(mail))
        if body not in bodies[name]:
            bodies[name].append(body)
            number = len(bodies[name])
            (folder / f"{name}{f'-{number}' if number > 1 else ''}.txt").write_text(
                mask(_format_head(mail)) + body
            )


def _format_head(mail: Any) -> str:
    about = {"From": mail.from_email, "To": ", ".join(mail.to), "Subject": mail.subject, **mail.extra_headers}
    return "".join(f"{name}: {value}\n" for name, value in about.items())


def _format_body(mail: Any) -> str:
    others = [f"--- {kind}\n{content}\n" for content, kind in getattr(mail, "alternatives", [])]
    return f"\n{mail.body.strip()}\n{''.join(others)}"


register(Golden(name="mails", about="mails", write=_write, process="server"))
