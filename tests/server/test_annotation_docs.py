"""The loop that the documents show, of a campaign without a browser: it runs as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.server.processes import PROJECT, Server

PAGE = (PROJECT / "docs" / "server" / "annotation.md").read_text(encoding="utf-8")
TOKEN = """
from django.contrib.auth.models import User
from capeval_server.accounts.models import Token
print(Token.issue(User.objects.get(username="olga").pk, "t", "organise"))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_documented_loop(tmp_path: Path, fresh: Server) -> None:
    (definition,) = blocks("toml")
    (items,) = blocks("json")
    path = tmp_path / "campaign.toml"
    path.write_text(definition)
    (tmp_path / "items.jsonl").write_text(items)
    fresh.run("migrate")
    fresh.run("user", "olga")
    fresh.start()
    commands = blocks("text")[0]
    create, opened, invited, status, audit = (shlex.split(line)[2:] for line in commands.splitlines())
    create[2] = str(path)
    assert fresh.run(*create) == "closer: made, a draft; items: 2\n"
    assert fresh.run(*opened) == "closer: open\n"
    tokens = fresh.run(*invited).split()
    work, manage = blocks("py")
    for token in tokens:
        exec(work, {"address": fresh.root, "invite": token})
    shown = fresh.run(*status)
    assert "finished: 2\n" in shown
    assert "counted: 4\n" in shown
    exec(manage, {"address": fresh.root, "token": fresh.python(TOKEN).strip()})
    assert "state: closing\n" in fresh.run(*status)
    assert fresh.run(*audit) == "closer: all holds\n"
    assert fresh.done("annotate", "audit", "other").returncode == 2
