"""Golden of the server's logs: lines in both formats, and all messages."""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from scripts.goldens import story
from scripts.goldens.log_lines import PACKAGE
from scripts.goldens.masks import mask
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    found = story.run_story().log
    lines = [
        f"{form}: {_mask_line(text)}\n"
        for line in found.lines.values()
        for form, text in sorted(line.items())
    ]
    (folder / "lines.txt").write_text("".join(lines))
    loggers = [
        name for name, made in logging.root.manager.loggerDict.items() if isinstance(made, logging.Logger)
    ]
    written = {key.partition(" ")[0] for key in found.lines}
    silent = sorted(name for name in loggers if name.startswith(f"{PACKAGE}.") and name not in written)
    (folder / "silent.txt").write_text("".join(f"{name}\n" for name in silent))
    (folder / "messages.txt").write_text("".join(f"{line}\n" for line in sorted(_list_messages())))


def _list_messages() -> Iterator[str]:
    """Yield logger, method and message of each logging call in the server's source.

    The story does not trigger all of them.
    """
    (root,) = import_module(PACKAGE).__path__
    for path in sorted(Path(root).rglob("*.py")):
        name = ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="_log"), attr="log"), args=[level, message, *_]
                ):
                    yield f"{name} {ast.unparse(level)}: {ast.unparse(message)}"
                case ast.Call(func=ast.Attribute(value=ast.Name(id="_log"), attr=method), args=[message, *_]):
                    yield f"{name} {method}: {ast.unparse(message)}"


def _mask_line(text: str) -> str:
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
