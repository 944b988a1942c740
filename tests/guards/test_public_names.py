"""Public names of modules, and the type stubs of the native module."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import capeval

PROJECT = Path(__file__).parents[2]
SOURCES = {"capeval": PROJECT / "src", "capeval_decoding": PROJECT / "decoding" / "src"}

# These import what only the environments of tests/training and tests/decoding/captioners have; tests there
# check their exports.
NEED_MORE = (
    ("capeval", "integrations", "torchmetrics"),
    ("capeval", "integrations", "capeval_scores"),
    ("capeval_decoding", "baselines", "baby_talk"),
    ("capeval_decoding", "baselines", "captioning"),
    ("capeval_decoding", "baselines", "checkpoints"),
    ("capeval_decoding", "baselines", "training"),
    ("capeval_decoding", "baselines", "updown"),
    ("capeval_decoding", "generation"),
)


def _public() -> list[str]:
    """The modules with no underscore in their path, but for packages' own."""
    names = []
    paths = [(folder, path) for name, folder in SOURCES.items() for path in (folder / name).rglob("*.py")]
    for folder, path in sorted(paths):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts[:3] in NEED_MORE:
            continue
        if not any(part.startswith("_") for part in parts):
            names.append(".".join(parts))
    return names


def _body(name: str) -> list[ast.stmt]:
    """The statements of a module, after its docstring."""
    path = SOURCES[name.partition(".")[0]].joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8")).body[1:]


# Packages that only hold modules have nothing to export.
PUBLIC = [name for name in _public() if _body(name)]


def _defined(name: str) -> list[str]:
    """The public classes and functions that a module defines at its top level."""
    return [
        node.name
        for node in _body(name)
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]


def test_the_scan_finds_the_package() -> None:
    assert {"capeval", "capeval.errors", "capeval.metrics.bleu", "capeval.compat"} <= set(PUBLIC)
    assert {"capeval_decoding.state_machines", "capeval_decoding.search"} <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_exports_are_listed_in_order_and_there(name: str) -> None:
    module = importlib.import_module(name)
    exported = module.__all__
    assert len(exported) == len(set(exported))
    assert exported == sorted(exported, key=_as_ruff_sorts)
    for export in exported:
        assert hasattr(module, export), export


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name


# Modules that share helpers with their neighbors on purpose, and do not export them.
SHARED = {
    "capeval.scoring.report": {"create_report"},
    "capeval.tokenizers": {"unknown_images"},
    "capeval.metrics.base": {"make_scores", "create_scores"},
}


# The modules of the command line are not imported elsewhere.
COMMANDS = re.compile(r"capeval\.cli\.|capeval_decoding\.commands\.|capeval\.studies\.\w+\.command$")


@pytest.mark.parametrize("name", [name for name in PUBLIC if not COMMANDS.match(name)])
def test_what_is_public_is_exported(name: str) -> None:
    module = importlib.import_module(name)
    missing = set(_defined(name)) - set(module.__all__)
    assert missing == SHARED.get(name, set())


def test_the_face_of_the_package() -> None:
    assert {"References", "Candidates", "evaluate", "Report", "Tokenizer"} <= set(capeval.__all__)
    assert capeval.__version__.count(".") == 2


def test_the_stubs_tell_the_truth(tmp_path: Path) -> None:
    # The comparison of signatures needs no types of other packages, and reading them takes half a minute.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy-numpy.*,pyarrow.*]\nfollow_imports = skip\n")
    check = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "capeval._native", "--mypy-config-file", settings],
        cwd=PROJECT,
        env={"MYPYPATH": "src", "PYTHONPATH": "src", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stdout + check.stderr
