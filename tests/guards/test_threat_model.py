"""Every defense of the threat model names a test that exists."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "server" / "threat-model.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Defenses")[2].partition("\n## ")[0]
ROWS = [line for line in TABLE.splitlines() if line.startswith("|")][2:]


def test_each_defense_has_a_test() -> None:
    assert len(ROWS) > 30
    for row in ROWS:
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)` \|$", row)
        if "make audit" in row:
            continue
        assert len(named) == 1, f"name one test: {row}"
        ((file, test),) = named
        text = (PROJECT / "tests" / "server" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\(", text, re.MULTILINE), f"{file} has no {test}"
