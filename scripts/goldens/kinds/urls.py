"""Golden of the server's URLs: route patterns and names, in order of resolution."""

from __future__ import annotations

from pathlib import Path

from scripts.goldens import story
from scripts.goldens.registry import Golden, register
from scripts.goldens.routes import routes


def _write(folder: Path) -> None:
    story.run_story()
    lines = [f"/{pattern}  {name}".rstrip() + "\n" for pattern, name in routes()]
    (folder / "urls.txt").write_text("".join(lines))


register(Golden(name="urls", about="URLs", write=_write, process="server"))
