"""The scripts that measure the code, on small trees with numbers counted by hand."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from scripts import (
    check_imports,
    count_lines,
    import_graph,
    layers,
    list_long_functions,
    rust_source,
    scan_docstrings,
    source_tree,
    time_tests,
)

CARGO = '[package]\nname = "{}"\nversion = "1.0.0"\n'


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def crate(name: str, files: Mapping[str, str], dependencies: str = "") -> dict[str, str]:
    """The files of a crate below `crates`."""
    sources = {f"crates/{name}/src/{path}": text for path, text in files.items()}
    return {f"crates/{name}/Cargo.toml": CARGO.format(name) + dependencies, **sources}


def by_package(report: Mapping[str, Any]) -> dict[str, Any]:
    return {row["package"]: row for row in report["packages"]}


class TestPackages:
    def test_packages_are_found_in_every_src_folder_and_crates_anywhere(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            {
                "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
                "src/first/__init__.py": "",
                "src/data/readme.txt": "no package",
                "server/src/second/__init__.py": "",
                "tools/third/Cargo.toml": CARGO.format("third"),
                **crate("fourth", {"lib.rs": ""}),
                ".venv/src/installed/__init__.py": "",
                "target/src/built/__init__.py": "",
                "tests/src/example/__init__.py": "",
            },
        )
        found = [(package.name, package.language) for package in source_tree.list_packages(tmp_path)]
        assert found == [("first", "Python"), ("second", "Python"), ("fourth", "Rust"), ("third", "Rust")]

    def test_tests_and_migrations_are_left_out(self, tmp_path: Path) -> None:
        names = ["__init__.py", "app/models.py", "app/migrations/0001.py", "tests/a.py", "test_b.py", "c.pyi"]
        write(tmp_path, {f"src/first/{name}": "" for name in names})
        (package,) = source_tree.list_packages(tmp_path)
        assert [path.name for path in package.list_files()] == ["__init__.py", "models.py"]

    def test_test_modules_of_rust_in_files_of_their_own_are_left_out(self, tmp_path: Path) -> None:
        files = {
            "lib.rs": "mod a;\n#[cfg(test)]\nmod tests;\n",
            "tests.rs": "mod inner;",
            "tests/inner.rs": "",
            "a.rs": '#[cfg(test)]\n#[path = "a_tests.rs"]\nmod tests;\n#[cfg(test)]\npub(crate) mod help;\n',
            "a_tests.rs": "",
            "a/help.rs": "",
            "a/help/more.rs": "",
            "a/kept.rs": "",
        }
        write(tmp_path, crate("one", files))
        (package,) = source_tree.list_packages(tmp_path)
        kept = {path.relative_to(package.source).as_posix() for path in package.list_files()}
        assert kept == {"a.rs", "a/kept.rs", "lib.rs"}


class TestLines:
    PYTHON = '''"""Docstring

of three lines."""
# Comment.

import os  # comment

TEXT = """one

three"""


class A:
    """Docstring."""

    x = 1
    """Docstring of an attribute."""

    def f(self, a,
          b):
        "Docstring."
        return (a,

                b)  # "no string"
'''
    RUST = """//! Module.

use std::fmt; // comment
/* block
   /* nested */ still a comment
*/
const URL: &str = "http://example.org"; /* after */
const RAW: &str = r#"a " // no comment

b"#;
/// Documentation.
fn quote<'a>(text: &'a str) -> char {
    '"' // comment after a quote
}

#[cfg(test)]
use std::{io, path};

#[cfg(not(test))]
fn only_in_the_product() {}

#[cfg(test)]
mod tests {
    #[test]
    fn works() { assert!("}".len() == 1); }
}
"""

    def test_python(self) -> None:
        # import, TEXT (2), class, x, def (2), return (2).
        assert count_lines.count_python_lines(self.PYTHON) == 9

    def test_rust(self, tmp_path: Path) -> None:
        # use, URL, RAW (2), fn quote (3), cfg(not(test)), only_in_the_product.
        write(tmp_path, {"a.rs": self.RUST})
        assert count_lines.count_rust_lines(tmp_path / "a.rs") == 9

    def test_masked_text_has_the_same_length_and_lines(self) -> None:
        masked = rust_source.mask(self.RUST)
        assert len(masked) == len(self.RUST)
        assert masked.count("\n") == self.RUST.count("\n")
        assert "http" not in masked
        assert "nested" not in masked

    def test_packages_and_totals(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            {
                "src/first/__init__.py": "",
                "src/first/a.py": "x = 1\ny = 2\n",
                "src/first/sub/b.py": "z = 3\n",
                **crate("one", {"lib.rs": "fn f() {}\n"}),
            },
        )
        report = count_lines.measure(tmp_path)
        assert report["totals"] == {"Python": 3, "Rust": 1}
        first = {"package": "first", "language": "Python", "files": 3, "lines": 3}
        assert by_package(report)["first"] == first
        parts = by_package(count_lines.measure(tmp_path, depth=2))
        assert {name: part["lines"] for name, part in parts.items()} == {"first": 2, "first/sub": 1, "one": 1}


class TestDocstrings:
    MODULES: ClassVar = {
        "src/first/__init__.py": '"""What is beside it."""\n',
        "src/first/a.py": '''"""Readers of files.

What follows the first line is besides the point. So
many words shall be `beside` in code.
"""


class A:
    """Whatever works."""

    def f(self):
        """Return the rows, and whose they are."""

    def g(self):
        """Returns the rows."""

    def h(self):
        """Scores of one image."""

    @property
    def name(self):
        """Says its name."""

    def no_docstring(self):
        pass
''',
    }

    def test_counts_and_shares(self, tmp_path: Path) -> None:
        summary = scan_docstrings.measure(write(tmp_path, self.MODULES))["packages"]["first"]
        assert summary["docstrings"] == 7
        # "What is beside it." and "whose they are"; "Whatever" is another word.
        assert summary["clauses"] == 2
        assert summary["clauses_share"] == 28.6
        assert {word: count for word, count in summary["first_words"].items() if count} == {
            "What": 1,
            "Says": 1,
        }
        assert summary["first_words_share"] == 28.6
        # f, g and h are functions; only f is imperative. f, g and the property begin with a verb.
        assert (summary["functions"], summary["imperative"], summary["imperative_share"]) == (3, 1, 33.3)
        assert (summary["verb_led"], summary["verb_led_share"]) == (3, 42.9)
        found = {phrase: count for phrase, count in summary["phrases"].items() if count}
        assert found == {"beside": 1, "besides": 1, "so many": 1, "shall": 1}

    def test_packages_without_docstrings_have_shares_of_zero(self, tmp_path: Path) -> None:
        summary = scan_docstrings.measure(write(tmp_path, {"src/first/__init__.py": ""}))["packages"]["first"]
        assert (summary["docstrings"], summary["clauses_share"], summary["verb_led_share"]) == (0, 0.0, 0.0)


class TestLongFunctions:
    @staticmethod
    def python(name: str, lines: int) -> str:
        return f"@decorator\ndef {name}():\n" + "    x = 1\n" * (lines - 1)

    @staticmethod
    def rust(name: str, lines: int) -> str:
        return f"/// Documentation.\npub fn {name}<T>(x: [T; 2])\n" + "\n" * (lines - 3) + "{ f();\n}\n"

    def test_functions_are_counted_from_def_to_their_last_line(self, tmp_path: Path) -> None:
        code = self.python("a", 40) + self.python("b", 41) + self.python("c", 61)
        rust = "trait T { fn no_body(&self); }\n" + self.rust("d", 40) + self.rust("e", 41)
        tests = "#[cfg(test)]\nmod tests {\n" + self.rust("f", 50) + "}\n"
        write(tmp_path, {"src/first/__init__.py": code, **crate("one", {"lib.rs": rust + tests})})
        report = list_long_functions.measure(tmp_path)
        rows = by_package(report)
        assert [rows["first"][key] for key in ("functions", "over_40", "over_60", "longest")] == [3, 2, 1, 61]
        assert [rows["one"][key] for key in ("functions", "over_40", "over_60", "longest")] == [2, 1, 0, 41]
        found = [(row["lines"], row["function"], row["place"]) for row in report["functions"]]
        assert found == [
            (61, "c", "src/first/__init__.py:85"),
            (41, "e", "crates/one/src/lib.rs:44"),
            (41, "b", "src/first/__init__.py:43"),
        ]
        with_tests = list_long_functions.measure(tmp_path, with_tests=True)
        assert by_package(with_tests)["one"]["over_40"] == 2


class TestImports:
    def test_kinds_and_cycles_of_python(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            {
                "src/first/__init__.py": "from first.a import A\n",
                "src/first/a.py": (
                    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from first.b import B\n"
                ),
                "src/first/b.py": "def f():\n    from first import c\n",
                "src/first/c.py": "import first.a\n",
                "src/first/sub/__init__.py": "",
                "src/first/sub/d.py": "from . import e\n",
                "src/first/sub/e.py": "from ..sub.d import D\nfrom .f import F\n",
                "src/first/sub/f.py": "import os\nfrom first.a import A\n",
            },
        )
        modules = import_graph.list_python_modules(source_tree.list_packages(tmp_path))
        assert sorted(import_graph.list_imports(modules)) == [
            ("first", "first.a", "module"),
            ("first.a", "first.b", "type"),
            ("first.b", "first.c", "deferred"),
            ("first.c", "first.a", "module"),
            ("first.sub.d", "first.sub.e", "module"),
            ("first.sub.e", "first.sub.d", "module"),
            ("first.sub.e", "first.sub.f", "module"),
            ("first.sub.f", "first.a", "module"),
        ]
        row = by_package(check_imports.measure(tmp_path))["first"]
        assert (row["modules"], row["imports"], row["deferred"]) == (8, 8, 1)
        assert row["part_cycles"] == [["first.a", "first.b", "first.c"]]
        assert row["module_cycles"] == [["first.a", "first.b", "first.c"], ["first.sub.d", "first.sub.e"]]
        assert row["without_layer"] == sorted(modules)

    def test_upward_imports(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            {
                "src/capeval/__init__.py": "import capeval.metrics\n",
                "src/capeval/errors.py": "def f():\n    from capeval import metrics, Score\n",
                "src/capeval/metrics/__init__.py": "import capeval.errors, capeval_server.api\n",
                "src/capeval/cli.py": "from capeval import Score\n",
                "src/capeval/unknown.py": "",
                "server/src/capeval_server/__init__.py": "",
                "server/src/capeval_server/api.py": "import capeval.metrics\n",
                "server/src/capeval_server/web.py": "import capeval_server.api\n",
            },
        )
        rows = by_package(check_imports.measure(tmp_path))
        assert [tuple(one.values()) for one in rows["capeval"]["upward"]] == [
            ("capeval.errors", "capeval", "deferred"),
            ("capeval.errors", "capeval.metrics", "deferred"),
            ("capeval.metrics", "capeval_server.api", "module"),
        ]
        assert rows["capeval"]["without_layer"] == ["capeval.unknown"]
        assert [tuple(one.values()) for one in rows["capeval_server"]["upward"]] == [
            ("capeval_server.web", "capeval_server.api", "module")
        ]

    def test_modules_of_a_crate(self, tmp_path: Path) -> None:
        files = {
            "lib.rs": "mod a; mod b; mod c;\npub use a::{Rule, inner::Deep};\npub use c::C as Renamed;\n",
            "a.rs": "mod inner;\npub use inner::Deep;\nuse crate::{b::{self, B}, c as d};\nuse std::fmt;\n",
            "a/inner.rs": "// use crate::c::C;\nuse super::super::b::B;\n#[cfg(test)]\nuse crate::c::C;\n",
            "b/mod.rs": "fn f() { let x = crate::Rule::new(); }\n",
            "c.rs": "use crate::Deep;\nfn f() { helper::g() }\nmod helper;\n",
            "c/helper.rs": 'pub fn g() { super::f("crate::a::Rule") }\n',
        }
        write(tmp_path, crate("one", files))
        (package,) = source_tree.list_packages(tmp_path)
        imports = {pair for pair in import_graph.list_rust_imports(package) if pair[0] != pair[1]}
        assert imports == {
            ("a", "b"),
            ("a", "c"),
            ("a::inner", "b"),
            ("b", "a"),
            ("c", "a::inner"),
            ("c", "c::helper"),
            ("c::helper", "c"),
        }
        row = by_package(check_imports.measure(tmp_path))["one"]
        assert row["part_cycles"] == [["a", "b", "c"]]
        # The inner module of a reaches a through b.
        assert row["module_cycles"] == [["a", "a::inner", "b", "c", "c::helper"]]

    def test_dependencies_of_crates(self, tmp_path: Path) -> None:
        name = 'meteor = { path = "../meteor" }\n'
        write(tmp_path, crate("ptb", {"lib.rs": ""}, f"[dependencies]\nserde = '1'\n{name}"))
        write(tmp_path, crate("meteor", {"lib.rs": ""}, "[dev-dependencies]\nptb.workspace = true\n"))
        write(tmp_path, crate("new", {"lib.rs": ""}, "[dependencies]\nptb.workspace = true\n"))
        report = check_imports.measure(tmp_path)
        assert report["crate_cycles"] == [["meteor", "ptb"]]
        rows = by_package(report)
        assert [tuple(one.values()) for one in rows["ptb"]["upward"]] == [("ptb", "meteor", "crate")]
        assert (rows["new"]["upward"], rows["new"]["without_layer"]) == ([], ["new"])

    def test_the_layers_are_those_of_the_checkout(self) -> None:
        rows = by_package(check_imports.measure(source_tree.PROJECT))
        assert set(layers.LAYERS) <= set(rows)
        assert len(rows) == len(layers.LAYERS) + len(layers.CRATES)
        assert {name: (row["upward"], row["without_layer"]) for name, row in rows.items()} == {
            name: ([], []) for name in rows
        }


class TestTimes:
    REPORT = """<?xml version="1.0"?><testsuites><testsuite name="pytest" time="9.0">
<testcase classname="tests.unit.test_a" name="f" time="1.25" />
<testcase classname="tests.unit.test_a.TestB" name="g" time="0.5"><failure message="no" /></testcase>
<testcase classname="tests.unit.test_c" name="h" time="2.5" />
<testcase classname="server.tests.api.test_d" name="i[x.y]" time="4.0" />
<testcase classname="" name="tests.unit.test_e" time="0.0"><error message="no" /></testcase>
</testsuite></testsuites>"""

    def test_folders_and_files(self, tmp_path: Path) -> None:
        write(tmp_path, {"report.xml": self.REPORT})
        report = time_tests.measure(tmp_path / "report.xml", slowest=2)
        assert (report["tests"], report["seconds"]) == (5, 8.2)
        assert report["folders"] == [
            {"folder": "tests/unit", "tests": 4, "seconds": 4.2},
            {"folder": "server/tests/api", "tests": 1, "seconds": 4.0},
        ]
        assert report["files"] == [
            {"file": "server/tests/api/test_d.py", "tests": 1, "seconds": 4.0},
            {"file": "tests/unit/test_c.py", "tests": 1, "seconds": 2.5},
        ]

    def test_a_file_written_by_pytest(self, tmp_path: Path) -> None:
        write(tmp_path, {"checks/test_one.py": "class TestA:\n    def test_b(self):\n        pass\n"})
        command = [sys.executable, "-m", "pytest", "-q", "--junit-xml", "report.xml", "."]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        files = time_tests.measure(tmp_path / "report.xml")["files"]
        assert [(row["file"], row["tests"]) for row in files] == [("checks/test_one.py", 1)]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [("no XML", "is not a JUnit XML file"), ("<testsuites />", "contains no tests")],
    )
    def test_other_files_are_refused(self, text: str, problem: str, tmp_path: Path) -> None:
        write(tmp_path, {"report.xml": text})
        with pytest.raises(ValueError, match=problem):
            time_tests.measure(tmp_path / "report.xml")


class TestCommands:
    SCRIPTS = ("check_imports", "count_lines", "list_long_functions", "scan_docstrings")

    @staticmethod
    def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Without site-packages: the scripts need only the standard library.
        command = [sys.executable, "-S", "-m", f"scripts.{script}", *arguments]
        return subprocess.run(command, cwd=source_tree.PROJECT, capture_output=True, text=True, check=False)

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_a_small_tree(self, script: str, tmp_path: Path) -> None:
        write(tmp_path, {"src/first/__init__.py": '"""Package."""\n'})
        header, row, *_ = self.run(script, "--root", str(tmp_path)).stdout.splitlines()
        assert header.split()[0] == "package"
        assert row.split()[0] == "first"
        ended = self.run(script, "--root", str(tmp_path), "--json")
        assert (ended.returncode, ended.stderr) == (0, "")
        (found,) = json.loads(ended.stdout)["packages"]
        assert "first" in (found if isinstance(found, str) else found["package"])

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_a_folder_without_packages_is_an_error(self, script: str, tmp_path: Path) -> None:
        ended = self.run(script, "--root", str(tmp_path))
        assert ended.returncode == 2
        assert f"no Python package in a 'src' folder and no crate in {tmp_path}" in ended.stderr

    def test_times(self, tmp_path: Path) -> None:
        write(tmp_path, {"report.xml": TestTimes.REPORT})
        text = self.run("time_tests", str(tmp_path / "report.xml"), "--slowest", "1").stdout
        assert text == (
            "5 tests in 8.2 s\n\n"
            "folder            tests  seconds\n"
            "tests/unit            4      4.2\n"
            "server/tests/api      1      4.0\n\n"
            "file                        tests  seconds\n"
            "server/tests/api/test_d.py      1      4.0\n"
        )
        missing = self.run("time_tests", str(tmp_path / "missing.xml"))
        assert (missing.returncode, missing.stdout) == (2, "")
        assert "missing.xml" in missing.stderr
