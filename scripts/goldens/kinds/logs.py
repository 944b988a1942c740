"""Logs: lines of each logger of the server, in both forms."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

from scripts.goldens import story
from scripts.goldens.log_lines import PACKAGE
from scripts.goldens.masks import mask
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    found = story.tell().log
    lines = [
        f"{form}: {_masked(text)}\n" for line in found.lines.values() for form, text in sorted(line.items())
    ]
    (folder / "lines.txt").write_text("".join(lines))
    loggers = [
        name for name, made in logging.root.manager.loggerDict.items() if isinstance(made, logging.Logger)
    ]
    written = {key.partition(" ")[0] for key in found.lines}
    silent = sorted(name for name in loggers if name.startswith(f"{PACKAGE}.") and name not in written)
    (folder / "silent.txt").write_text("".join(f"{name}\n" for name in silent))


def _masked(text: str) -> str:
    if text.startswith("{"):
        found = json.loads(text)
        for name in {"time", "milliseconds"} & set(found):
            found[name] = name.upper()
        if "traceback" in found:
            found["traceback"] = "TRACEBACK"
        return mask(json.dumps(found, ensure_ascii=False))
    first, _, rest = text.partition("\n")
    first = re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", "TIME", first)
    return mask(f"{first}\n  TRACEBACK" if rest else first)


register(
    Golden(name="logs", about="lines of logs", write=_write, process="server", renames="logger_names.toml")
)
