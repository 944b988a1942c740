"""Commands from entry points: listed, run, and reported in one line if they can't be loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.capeval.cli.test_cli import output, refusal, run
from tests.plugins import write_distribution

BROKEN = {
    "ImportError": (
        "from os import no_such_name",
        "ImportError: cannot import name 'no_such_name' from 'os'",
    ),
    "SyntaxError": ("def app(:", "SyntaxError: invalid syntax (added_commands.py, line 1)"),
    "SystemExit": ("import sys; sys.exit('bye')", "SystemExit: bye"),
    "ValueError": ("raise ValueError('two\\nlines')", "ValueError: two lines"),
    "AttributeError": ("", "AttributeError: module 'added_commands' has no attribute 'app'"),
    "not a command": ("def app(): pass", "expected a click command (got function)"),
}

METRIC = """
import numpy as np
from dataclasses import dataclass
from capeval.metrics import MeanMetric, register

@register
@dataclass(frozen=True, kw_only=True)
class Added(MeanMetric):
    family = "Added"

    def kernel(self, references):
        return lambda captions: np.ones((len(captions), 2))

@register
@dataclass(frozen=True, kw_only=True)
class Added2(Added):
    family = "Added2"
"""


def install(folder: Path, source: str) -> dict[str, str]:
    """Write a distribution with the command `added`, and return the environment that finds it."""
    entries = {"capeval.commands": "added = added_commands:app"}
    write_distribution(folder, "added-commands", entries, {"added_commands": source})
    return {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}


def test_a_command_of_another_distribution_is_listed_and_run(tmp_path: Path) -> None:
    source = "import click\n@click.command(help='Say hello.')\ndef app(): click.echo('hello')\n"
    env = install(tmp_path, source)
    assert output("added", env=env) == "hello\n"
    assert "Say hello." in output("--help", env=env)


@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_command_is_reported_and_leaves_the_others(tmp_path: Path, source: str, reason: str) -> None:
    env = install(tmp_path, source)
    help_text = " ".join(output("--help", env=env).split())
    assert f"added Not available: 'added' can't be loaded: {reason}" in help_text
    assert "Check whether a result file" in help_text
    message = refusal("added", env=env)
    assert message.startswith(f"capeval: error: 'added' can't be loaded: {reason}")
    assert message.endswith("; update or uninstall added-commands, which provides it\n")
    assert run("--version", env=env).stderr == b""


def test_a_missing_module_is_named_with_the_distribution(tmp_path: Path) -> None:
    env = install(tmp_path, "import no_such_module")
    assert "'added' needs the missing module no_such_module; reinstall" in refusal("added", env=env)


@pytest.mark.parametrize("group", ["capeval.metrics", "capeval.tokenizers", "capeval.formats"])
@pytest.mark.parametrize(
    "source", ["def app(:", "import sys; sys.exit(3)"], ids=["SyntaxError", "SystemExit"]
)
def test_other_broken_plugins_are_warnings(tmp_path: Path, group: str, source: str) -> None:
    write_distribution(tmp_path, "added-parts", {group: "added = added_parts"}, {"added_parts": source})
    (tmp_path / "captions.json").write_text('{"unknown": 1}')
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    commands: dict[str, list[str | Path]] = {
        "capeval.metrics": ["metrics"],
        "capeval.tokenizers": ["tokenize", tmp_path / "captions.json", "--tokenizer", "unknown"],
        "capeval.formats": ["check", tmp_path / "captions.json"],
    }
    assert run("--help", env=env).stderr == b""
    said = run(*commands[group], env=env).stderr.decode()
    assert said.startswith(f"capeval: warning: added-parts: plug-in 'added' of {group} can't be loaded: Sy")


def search_path(folder: Path) -> dict[str, str]:
    """Return the environment that also finds the modules of a folder."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}


@pytest.mark.parametrize("entry", ["added_metric", "added_metric:Added"])
def test_a_plugin_that_registers_nothing_is_a_warning(tmp_path: Path, entry: str) -> None:
    source = "from capeval.metrics import MeanMetric\nclass Added(MeanMetric): family = 'Added'\n"
    modules = {"added_metric": source}
    write_distribution(tmp_path, "added-parts", {"capeval.metrics": f"added = {entry}"}, modules)
    env = search_path(tmp_path)
    assert run("metrics", env=env).stderr.decode() == (
        "capeval: warning: added-parts: plug-in 'added' of capeval.metrics registers nothing; decorate its"
        " classes with @register\n"
    )


def test_a_plugin_that_was_imported_before_is_no_warning(tmp_path: Path) -> None:
    modules = {"added_metric": METRIC}
    write_distribution(tmp_path, "added-parts", {"capeval.metrics": "added = added_metric"}, modules)
    (tmp_path / "references.json").write_text('{"1": ["a dog"]}')
    (tmp_path / "results.json").write_text('[{"image_id": 1, "caption": "a dog"}]')
    env = search_path(tmp_path)
    files = [tmp_path / "references.json", tmp_path / "results.json"]
    done = run("score", *files, "-m", "added_metric:Added,Added2", env=env)
    assert "Added2" in done.stdout.decode()
    assert done.stderr == b""
