"""Golden of the server's OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.goldens import story
from scripts.goldens.masks import mask
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    document = json.loads(story.run_story().people["anonymous"].see("/api/openapi.json"))
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "openapi.json").write_text(f"{mask(text)}\n")


register(Golden(name="openapi", about="OpenAPI document", write=_write, process="server"))
