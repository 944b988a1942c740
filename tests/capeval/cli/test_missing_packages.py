"""Missing optional packages: one line that names the extra, for every command."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from capeval._internal.optional_packages import install_command, make_missing_package_error
from capeval.errors import DependencyError
from tests.base_install import ADDED, SOURCE, BaseInstall
from tests.capeval.study_cases import CASES, write_files
from tests.every_command import COMMANDS
from tests.waiting import PATIENCE

SERVER = 'capeval: error: this command needs django: pip install "capeval[server]"\n'
BASELINES = 'capeval: error: this command needs torch: pip install "capeval-decoding[torch]"\n'
REPORT = 'capeval: error: HTML reports need jinja2: pip install "capeval[report]"\n'
NO_SPICE = (
    "capeval: warning: SPICE is left out, because its data is not installed; to add it, run"
    ' pip install "capeval[spice]"'
)
# A study with figures, and a comparison with a paper, whose page shows figures.
NO_FIGURES = {"choose": "'classes'", "nocaps-paper": ".+"}
LEFT_OUT = (
    "capeval: warning: METEOR is left out, because its data is not installed; to add it, run"
    ' pip install "capeval[meteor]"'
)
# Commands that write or build example files from data in the library.
WITHOUT_DJANGO = {("server", "example")}
# Of the other commands of the server, which fail at one place, one of each group is tested.
PATHS = [
    path
    for path in COMMANDS
    if path[0] != "server" or path in WITHOUT_DJANGO or path[1:] in {("start",), ("annotate", "freeze")}
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> BaseInstall:
    """All three distributions, without the packages that the added ones need."""
    return BaseInstall(tmp_path_factory.mktemp("packages"), *ADDED)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> BaseInstall:
    """The distribution capeval without the others."""
    return BaseInstall(tmp_path_factory.mktemp("packages"))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    references = [
        {"image_id": image, "caption": f"a {color} dog number {image}"}
        for image in range(1, 4)
        for color in ("red", "blue", "green", "black", "white")
    ]
    results = [{"image_id": image, "caption": f"a dog number {image}"} for image in range(1, 4)]
    for name, content in (("references", references), ("a", results), ("b", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "a.parquet").write_bytes(b"PAR1    PAR1")
    return tmp_path


def _arguments(command: click.Command) -> list[str]:
    """Plausible values of all that a command requires."""
    given = []
    for parameter in command.params:
        value = "3"
        if isinstance(parameter.type, click.Choice):
            value = str(next(iter(parameter.type.choices)))
        elif isinstance(parameter.type, click.Path):
            value = "references.json"
        elif parameter.type is click.STRING:
            value = "name"
        if isinstance(parameter, click.Argument):
            given.append(value)
        elif parameter.required:
            given += [parameter.opts[0], value]
    return given


def test_the_base_installation_has_no_optional_package(base: BaseInstall, tmp_path: Path) -> None:
    assert base.run("--version", cwd=tmp_path).returncode == 0
    names = {path.name for path in base.packages.iterdir()}
    assert {"click", "numpy", "rich"} <= names
    assert not names & {"django", "jinja2", "matplotlib", "scipy", "pyarrow", "pandas", "pycocoevalcap"}


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_no_command_ends_in_a_traceback(path: tuple[str, ...], base: BaseInstall, files: Path) -> None:
    done = base.run(*path, *_arguments(COMMANDS[path]), cwd=files)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert (done.returncode, done.stdout) == (2, "")
        *others, error = done.stderr.splitlines()
        assert (set(others) <= {LEFT_OUT, NO_SPICE}, error.startswith("capeval: error: ")) == (True, True)
    if path[0] == "server" and path not in WITHOUT_DJANGO:
        assert (done.returncode, done.stderr) == (2, SERVER)
    elif path in {("baselines", "train"), ("baselines", "caption")}:
        assert (done.returncode, done.stderr) == (2, BASELINES)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("score references.json a.json -m BLEU --report report.html", REPORT),
        (
            "browse references.json a.json -o page.html",
            REPORT.replace("HTML reports need", "this command needs"),
        ),
        (
            "demo",
            "capeval: error: the demo needs pycocoevalcap, jinja2, matplotlib:"
            ' pip install "capeval[coco,report]"\n',
        ),
        (
            "score references.json a.json -m BLEU,SPIDEr,METEOR",
            "capeval: error: SPICE's model and METEOR's word tables are not installed:"
            ' pip install "capeval[spice,meteor]"; to score without SPIDEr, METEOR, use --metrics BLEU\n',
        ),
        (
            "score references.json a.json -m BLEU,METEOR",
            "capeval: error: METEOR requires word tables, which are not installed:"
            ' pip install "capeval[meteor]"; to score without METEOR, use --metrics BLEU\n',
        ),
        (
            "data sample coco",
            "capeval: error: the captions of COCO come with pycocoevalcap, which is missing:"
            ' pip install "capeval[coco]"\n',
        ),
        (
            "check a.parquet",
            "capeval: error: Parquet and Arrow files need pyarrow: pip install pyarrow\n",
        ),
        (
            "study ranking references.json",
            'capeval: error: ranks need scipy: pip install "capeval[studies]"\n',
        ),
    ],
)
def test_the_extra_is_named(command: str, error: str, base: BaseInstall, files: Path) -> None:
    before = set(files.iterdir())
    done = base.run(*shlex.split(command), cwd=files)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", error)
    assert {path for path in files.iterdir() if path.name != "cache"} == before


def test_what_needs_no_extra_works(base: BaseInstall, files: Path) -> None:
    for command in (
        "score references.json a.json -m BLEU,ROUGE-L,CIDEr-D",
        "compare references.json a.json b.json -m BLEU --samples 20",
        "check a.json -r references.json",
        "metrics",
        "server example small example",
        "server --help",
        "server annotate --help",
        "baselines --help",
        "--help",
    ):
        done = base.run(*shlex.split(command), cwd=files)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_default_metrics_without_data_are_left_out(base: BaseInstall, files: Path) -> None:
    for command in (
        "score references.json a.json",
        "score references.json a.json --format csv",
        "compare references.json a.json b.json --samples 20",
        "study human references.json --draws 1 --references 1",
    ):
        done = base.run(*shlex.split(command), cwd=files)
        assert (done.returncode, done.stderr) == (0, f"{LEFT_OUT}\n"), command
        assert "BLEU-1" in done.stdout
        assert "METEOR" not in done.stdout.replace(LEFT_OUT.removeprefix("capeval: warning: "), "")
    content = json.loads(base.run("score", "references.json", "a.json", "-f", "json", cwd=files).stdout)
    assert content["omitted"] == {"METEOR": 'pip install "capeval[meteor]"'}
    assert "METEOR" not in content["metrics"]


@pytest.mark.parametrize("study", NO_FIGURES)
def test_a_study_writes_its_tables_without_matplotlib(study: str, base: BaseInstall, tmp_path: Path) -> None:
    """The figures that are left out are named on standard error, with the command that adds them."""
    write_files(tmp_path)
    arguments = [str(argument).removeprefix("@") for argument in CASES[study].arguments]
    done = base.run("study", study, *arguments, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        "capeval: warning: matplotlib is not installed, so these figures are left out:"
        rf' {NO_FIGURES[study]}; to add them, run pip install "capeval\[studies\]"',
        line,
    )
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert f"{len(files)} files in out\n" in done.stdout
    assert {Path(name).suffix for name in files} <= {".csv", ".md"}
    if "report.md" in files:
        assert "](" not in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize(("name", "extra"), [("server", "server"), ("baselines", "decoding")])
def test_a_command_of_another_distribution_names_it(
    alone: BaseInstall, tmp_path: Path, name: str, extra: str
) -> None:
    shown = alone.run("--help", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert not re.search(rf"^  {name}\b", shown.stdout, re.MULTILINE)
    for arguments in ((name,), (name, "--help"), (name, "demo")):
        done = alone.run(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"capeval: error: {name!r} is a command of capeval-{extra}, which is not installed; run"
            f' pip install "capeval[{extra}]"\n'
        )


def test_the_servers_own_module_names_the_extra(base: BaseInstall, tmp_path: Path) -> None:
    done = base.run("migrate", cwd=tmp_path, module="capeval_server")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", SERVER)


def _optional_modules() -> set[str]:
    """The top-level modules of other projects that capeval imports."""
    found = set()
    for path in (path for folder in (SOURCE, *ADDED.values()) for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            found |= {name.partition(".")[0] for name in names}
    return {name for name in found - sys.stdlib_module_names if not name.startswith("capeval")}


def _closure(name: str, extra: str) -> set[str]:
    """Return the packages of an extra that are installed here, including their dependencies."""
    waiting, seen = [(name, frozenset({extra}))], set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            needed = map(Requirement, distribution(name).requires or [])
        except ModuleNotFoundError:
            continue
        waiting += [
            (canonicalize_name(each.name), frozenset(each.extras))
            for each in needed
            if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in extras or {""})
        ]
    return {name for name, _ in seen}


def test_the_extra_that_is_named_contains_each_module() -> None:
    providers = packages_distributions()
    modules = _optional_modules()
    assert {"PIL", "allauth", "django", "h5py", "jinja2", "jwt", "pydantic", "torch"} <= modules
    # `_typeshed` exists for type checkers only.
    for module in modules - _closure("capeval", "") - {"_typeshed", "datasets", "evaluate"}:
        error = make_missing_package_error("it needs", ModuleNotFoundError(name=f"{module}_"))
        assert not isinstance(error, DependencyError)
        command = _command(module)
        assert command, module
        found = re.fullmatch(r'pip install "([\w-]+)\[(\w+)\]"', command)
        if found is None:
            assert command == f"pip install {module}"
        elif module in providers:
            # Otherwise it is not installed here, and its package has the module's name.
            assert {canonicalize_name(name) for name in providers[module]} & _closure(*found.groups()), module


def _command(module: str) -> str:
    """The command that is named if a module is missing, in an interpreter in which it is."""
    code = (
        "import sys\n"
        "from capeval._internal.optional_packages import make_missing_package_error\n"
        "sys.modules[sys.argv[1]] = None\n"
        "print(str(make_missing_package_error('', ModuleNotFoundError(name=sys.argv[1]))).partition(': ')[2])"
    )
    command = [sys.executable, "-c", code, module]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.strip()


def test_the_extra_of_the_part_that_asks_is_named() -> None:
    assert install_command("matplotlib") == 'pip install "capeval[report]"'
    assert install_command("matplotlib", "studies") == 'pip install "capeval[studies]"'
    assert install_command("matplotlib", "server") == 'pip install "capeval[server]"'
    assert install_command("matplotlib", "coco") == 'pip install "capeval[report]"'
    # Only for developers of capeval.
    assert install_command("pytest") == ""


def test_a_fault_inside_an_installed_package_is_not_a_missing_one(tmp_path: Path) -> None:
    for text in (
        "raise ImportError('broken build')",
        "import scipy.no_such_module",
        "import no_such_package",
    ):
        (tmp_path / "matplotlib.py").write_text(text)
        code = "import sys; sys.path.insert(0, '.')\n"
        code += "from capeval.cli.toolkit.study_output import _has_matplotlib"
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\n_has_matplotlib()"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            timeout=PATIENCE,
        )
        assert "capeval[" not in done.stderr
        assert f"{'ModuleNotFound' if 'import' in text else 'Import'}Error: " in done.stderr
