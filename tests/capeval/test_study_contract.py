"""The contract of a study, for every folder of `capeval.studies` with a command, and for a toy."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from capeval import studies
from capeval._internal.options import Option, Parameter, get_parameters
from capeval.cli import studies as registry
from capeval.cli.app import app
from capeval.errors import OptionError
from capeval.report import to_csv
from capeval.report.figures import COLUMN, THEMES
from capeval.report.study_report import StudyReport
from tests.capeval.study_cases import CASES, StudyCase, write_files

DOCS = Path(__file__).parents[2] / "docs"
# The files of a new study.
TOY = {
    "__init__.py": '"""Lengths of captions."""\n',
    "options.py": '''
"""Options of a study of lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Option, check_options


@dataclass(frozen=True, kw_only=True)
class ToyOptions:
    """Options of a study of lengths."""

    unit: Annotated[Literal["word", "letter"], Option(help="Unit of lengths.")] = "word"
    least: Annotated[int, Option(min=1, max=9, help="Smallest length that counts.")] = 2

    def __post_init__(self) -> None:
        check_options(self)
''',
    "compute.py": '''
"""Count captions by length."""

from collections import Counter

from capeval.studies.toy.options import ToyOptions


def count_lengths(captions, options=ToyOptions()):
    texts = [text for group in captions.values() for text in group]
    lengths = Counter(len(text.split() if options.unit == "word" else text) for text in texts)
    return {length: lengths[length] for length in sorted(lengths) if length >= options.least}
''',
    "report.py": '''
"""The table and the figure of a study of lengths."""

from capeval.report.figures import Curve, plot_lines
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid


def report(lengths):
    rows = tuple((Cell(value=length), Cell(value=count)) for length, count in lengths.items())
    curve = Curve(x=list(lengths), y=list(lengths.values()))
    return StudyReport(
        tables={"lengths": Grid(columns=("Length", "Captions"), rows=rows)},
        figures={
            "lengths": lambda: plot_lines(
                {"all": curve}, title="Lengths", x_label="Length", y_label="Captions"
            )
        },
    )
''',
    "command.py": '''
"""`capeval study toy`: counts captions by length."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Argument
from capeval.cli.toolkit.output import examples
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.studies.toy.options import ToyOptions

ORDER = 1000
EXAMPLES = examples("capeval study toy captions.json")


def run(
    captions: Annotated[Path, Argument(help="File of captions.")],
    *,
    options: ToyOptions,
    output: Folder = None,
) -> None:
    """Count captions by length."""
    from capeval.cli.toolkit.inputs import references_from
    from capeval.studies.toy.compute import count_lengths
    from capeval.studies.toy.report import report

    write_study_report(report(count_lengths(references_from(captions), options)), output)
''',
}


def _report_toy(folder: Path) -> StudyReport:
    from capeval.formats import load_references

    compute, report = (import_module(f"capeval.studies.toy.{name}") for name in ("compute", "report"))
    made: StudyReport = report.report(compute.count_lengths(load_references(folder / "captions.json")))
    return made


ALL = {**CASES, "toy": StudyCase(arguments=("@captions.json",), report=_report_toy)}


@pytest.fixture(scope="module", autouse=True)
def _toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Add the toy's folder to the studies."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "toy").mkdir()
    for name, text in TOY.items():
        (folder / "toy" / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "__path__", [*studies.__path__, str(folder)])
        yield
        for name in [name for name in sys.modules if name.startswith("capeval.studies.toy")]:
            patch.delitem(sys.modules, name)
        patch.delattr(studies, "toy", raising=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


def _arguments(name: str, files: Path) -> list[str]:
    return [each.replace("@", f"{files}/") for each in ALL[name].arguments]


def _study(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["study", *arguments], prog_name="capeval")


def _groups(name: str) -> list[type]:
    """Return the dataclasses of options that a study's command takes."""
    run = import_module(registry.find_studies()[name]).run
    return [each.kind for each in get_parameters(run) if each.about is None]


def _flat(target: object) -> Iterator[Parameter]:
    assert callable(target)
    for each in get_parameters(target):
        if each.about is None:
            yield from _flat(each.kind)
        else:
            yield each


def _options(name: str) -> list[Parameter]:
    run = import_module(registry.find_studies()[name]).run
    return [each for each in _flat(run) if isinstance(each.about, Option)]


def _flag(parameter: Parameter) -> str:
    assert isinstance(parameter.about, Option)
    return (parameter.about.names or (f"--{parameter.name.replace('_', '-')}",))[0]


def _wrong_values(parameter: Parameter) -> list[tuple[str, object]]:
    """Return values that the description does not allow, for the command and for Python."""
    about = parameter.about
    assert isinstance(about, Option)
    if parameter.choices:
        return [("no-such-choice", "no-such-choice")]
    if about.between is not None:
        return [(str(float(bound)), float(bound)) for bound in about.between]
    bounds = [(about.min, -1), (about.max, 1)]
    return [(str(bound + step), bound + step) for bound, step in bounds if bound is not None]


def test_every_study_has_an_example() -> None:
    assert set(registry.find_studies()) == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_help_lists_each_option_with_its_description_and_default(name: str) -> None:
    shown = _study(name, "--help")
    assert shown.exit_code == 0
    text = re.sub(r"\s+", "", shown.output)
    options = _options(name)
    assert options
    for each in options:
        assert isinstance(each.about, Option)
        assert each.about.help
        assert re.sub(r"\s+", "", f"{_flag(each)}") in text
        # Long words are broken at hyphens and the like, and spaces are taken out on both sides.
        assert re.sub(r"\s+", "", each.about.help) in text
        if isinstance(each.default, int | float | str) and each.default and each.about.show_default is True:
            assert f"[default:{each.default}" in text


@pytest.mark.parametrize("name", ALL)
def test_the_command_writes_the_report_of_python(name: str, files: Path, tmp_path: Path) -> None:
    done = _study(name, *_arguments(name, files), "--output", str(tmp_path))
    assert (done.exception, done.exit_code) == (None, 0)
    report = ALL[name].report(files)
    tables = {**report.tables, **{key: make() for key, make in report.long_tables.items()}}
    assert tables
    for key, grid in tables.items():
        assert (tmp_path / f"{key}.csv").read_text(encoding="utf-8") == to_csv(grid), key
    assert bool(report.figures) is ALL[name].has_figures
    for key in report.figures:
        for theme in THEMES:
            of = {form: (tmp_path / f"{key}{theme.suffix}.{form}").read_bytes() for form in theme.formats}
            assert of["png"].startswith(b"\x89PNG")
            assert b"<svg" in of["svg"]
            assert of.get("pdf", b"%PDF").startswith(b"%PDF")
            # One column of a paper at 300 pixels per inch; two for names with -wide.
            width = 7 if key.endswith("-wide") else COLUMN
            assert int.from_bytes(of["png"][16:20]) == round(300 * width)


@pytest.mark.parametrize("name", ALL)
def test_wrong_values_are_errors_with_place_and_fix(name: str, files: Path) -> None:
    for each in _options(name):
        for text, _ in _wrong_values(each):
            done = _study(name, *_arguments(name, files), _flag(each), text)
            assert done.exit_code == 2, each.name
            # The place, the problem, and the values that are allowed.
            assert re.search(rf"Invalid value for .*'{_flag(each)}'", done.output)
            assert text in done.output
            assert re.search(r"is not one of|is not in the range|is not between", done.output)


@pytest.mark.parametrize("name", ALL)
def test_dataclasses_refuse_the_same_values(name: str) -> None:
    for group in _groups(name):
        for each in get_parameters(group):
            if not isinstance(each.about, Option):
                continue
            for _, value in _wrong_values(each):
                with pytest.raises(OptionError, match=f"'{each.name}' must be .*got {value!r}"):
                    group(**{each.name: value})


@pytest.mark.parametrize("name", CASES)
def test_a_page_describes_the_study(name: str) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (DOCS / "studies").glob("*.md")]
    found = [page for page in pages if f".. study-options:: {name}\n" in page]
    assert len(found) == 1
    assert f"capeval study {name}" in found[0]


@pytest.mark.parametrize("name", ALL)
def test_defaults_are_said_once(name: str) -> None:
    """No function or class of a study but its options has a parameter with the default of an option."""
    package = import_module(registry.find_studies()[name].removesuffix(".command"))
    public = [getattr(package, each) for each in getattr(package, "__all__", ())]
    # None, False and an empty text are the absence of a value and no choice.
    defaults = {each.name: type(each.default) for each in _options(name) if each.default != ""}
    assert [
        (made.__name__, parameter.name)
        for made in public
        if inspect.isfunction(made) or (inspect.isclass(made) and made not in _groups(name))
        for parameter in inspect.signature(made).parameters.values()
        if type(parameter.default) is defaults.get(parameter.name) in (int, float, str)
    ] == []
