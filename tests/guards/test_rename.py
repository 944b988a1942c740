"""The codemod of renames, on small modules."""

import pytest

from scripts.rename import Table, apply_edits, list_python_edits, list_text_edits

TABLE = Table(
    modules={"capeval.files": "capeval._internal.atomic_write", "capeval.report": "capeval.results"},
    names={"capeval.types:Scores": "capeval.data.scores:MetricScores"},
    stored=("capeval.files.salt",),
)


def rename(source: str, module: str = "capeval.other") -> str:
    return apply_edits(source, list_python_edits(source, module, TABLE))


def test_imports_and_the_names_that_they_bind() -> None:
    source = "from capeval import files, types\nfiles.write(types.Scores)\n"
    assert rename(source) == (
        "from capeval._internal import atomic_write\nfrom capeval import types\n"
        "atomic_write.write(types.MetricScores)\n"
    )
    assert rename("from capeval.types import Scores as S\nS()\n") == (
        "from capeval.data.scores import MetricScores as S\nS()\n"
    )


def test_an_import_in_a_function_renames_nothing_outside() -> None:
    source = "def files():\n    pass\n\n\ndef f():\n    from capeval import files\n    files.x\n\n\nfiles()\n"
    changed = rename(source)
    assert "    from capeval._internal import atomic_write\n    atomic_write.x\n" in changed
    assert changed.startswith("def files():")
    assert changed.endswith("files()\n")


def test_programs_in_strings() -> None:
    source = 'CODE = """\nfrom capeval import files\nfiles.x\n"""\n'
    assert rename(source) == 'CODE = """\nfrom capeval._internal import atomic_write\natomic_write.x\n"""\n'


def test_dotted_names_and_paths_but_not_stored_strings() -> None:
    text = "see capeval.files.write and src/capeval/files.py, not capeval.files.salt or capeval.filesystem"
    assert apply_edits(text, list_text_edits(text, TABLE)) == (
        "see capeval._internal.atomic_write.write and src/capeval/_internal/atomic_write.py,"
        " not capeval.files.salt or capeval.filesystem"
    )


def test_a_name_that_is_used_already_is_an_error() -> None:
    with pytest.raises(ValueError, match="files = atomic_write"):
        rename("from capeval import files\natomic_write = files\n")
