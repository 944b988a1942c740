"""The documented example of a campaign without a browser runs unchanged."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from tests.server.annotation.test_panels import KEY, key_set
from tests.server.processes import PROJECT, Server

PAGE = (PROJECT / "docs" / "server" / "annotation.md").read_text(encoding="utf-8")
WORKERS = """
from capeval_server.annotation.models import Worker
print(*Worker.objects.values("pseudonym"))
"""
TOKEN = """
from django.contrib.auth.models import User
from capeval_server.accounts.models import Token
print(Token.issue(User.objects.get(username="olga").pk, "t", "organize"))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_documented_loop(tmp_path: Path, fresh: Server) -> None:
    definition, panel, turk, conditions = blocks("toml")
    (items,) = blocks("json")
    path = tmp_path / "campaign.toml"
    path.write_text(definition)
    (tmp_path / "items.jsonl").write_text(items)
    fresh.migrate()
    fresh.run("user", "olga")
    fresh.start()
    commands = blocks("text")[0]
    create, opened, invited, status, audit, replay = (shlex.split(line)[2:] for line in commands.splitlines())
    create[2] = str(path)
    assert fresh.run(*create) == "closer: created as a draft; items: 2\n"
    assert fresh.run(*opened) == "closer: open\n"
    tokens = fresh.run(*invited).split()
    _, work, manage = blocks("py")
    for token in tokens:
        names: dict[str, Any] = {"address": fresh.root, "invite": token}
        exec(work, names)
        names["worker"].close()
    shown = fresh.run(*status)
    assert "finished: 2\n" in shown
    assert "counted: 4\n" in shown
    names = {"address": fresh.root, "token": fresh.python(TOKEN).strip()}
    exec("import httpx\n" + manage, names)
    names["manager"].close()
    assert "state: closing\n" in fresh.run(*status)
    assert fresh.run(*audit) == "closer: no problems found\n"
    assert fresh.done("annotate", "audit", "other").returncode == 2
    assert fresh.run(*replay) == "choices: 0\n"
    (tmp_path / "turk.toml").write_text(turk)
    set_panel = fresh.run("annotate", "panel", "closer", str(tmp_path / "turk.toml"))
    assert set_panel.startswith("closer: mturk; ")
    (tmp_path / "panel.toml").write_text(conditions + panel)
    (tmp_path / "jwks.json").write_text(json.dumps(key_set(a=KEY)))
    set_panel = fresh.run("annotate", "panel", "closer", str(tmp_path / "panel.toml"))
    assert set_panel.startswith("closer: prolific; identities: signed\ncompleted: C")
    assert fresh.run("annotate", "panel", "closer") == set_panel
    (worker, _) = re.findall(r"'pseudonym': '(\w+)'", fresh.python(WORKERS))
    fresh.run("user", "ann")
    assert fresh.run("annotate", "link", "closer", worker, "ann") == f"{worker}: linked\n"
    (tmp_path / "new.md").write_text("All is published.")
    changed = fresh.run("annotate", "texts", "closer", "--consent", str(tmp_path / "new.md"))
    assert changed == "closer: version 2 of the texts\n"
    left = fresh.run("annotate", "withdraw", "closer", worker)
    assert left == f"closer: {worker} withdrew; answers removed: 2; in frozen releases: 0\n"
    assert fresh.done("annotate", "withdraw", "closer", worker).returncode == 2
    assert fresh.done("annotate", "withdraw", "closer", "nobody").returncode == 2
    assert fresh.run(*audit) == "closer: no problems found\n"
