"""The codemod of renames, on small modules."""

import pytest

from scripts.rename import Table, apply_edits, list_python_edits, list_text_edits

TABLE = Table(
    modules={"capeval.shapes": "capeval.base.solids", "capeval.report": "capeval.results"},
    names={"capeval.colors:Scores": "capeval.data.scores:MetricScores"},
    stored=("capeval.shapes.salt",),
)


def rename(source: str, module: str = "capeval.other") -> str:
    return apply_edits(source, list_python_edits(source, module, TABLE))


def test_imports_and_the_names_that_they_bind() -> None:
    source = "from capeval import shapes, colors\nshapes.write(colors.Scores)\n"
    assert rename(source) == (
        "from capeval.base import solids\nfrom capeval import colors\nsolids.write(colors.MetricScores)\n"
    )
    assert rename("from capeval.colors import Scores as S\nS()\n") == (
        "from capeval.data.scores import MetricScores as S\nS()\n"
    )


def test_an_import_in_a_function_renames_nothing_outside() -> None:
    source = (
        "def shapes():\n    pass\n\n\ndef f():\n    from capeval import shapes\n    shapes.x\n\n\nshapes()\n"
    )
    changed = rename(source)
    assert "    from capeval.base import solids\n    solids.x\n" in changed
    assert changed.startswith("def shapes():")
    assert changed.endswith("shapes()\n")


def test_programs_in_strings() -> None:
    source = 'CODE = """\nfrom capeval import shapes\nshapes.x\n"""\n'
    assert rename(source) == 'CODE = """\nfrom capeval.base import solids\nsolids.x\n"""\n'


def test_dotted_names_and_paths_but_not_stored_strings() -> None:
    text = (
        "see capeval.shapes.write and src/capeval/shapes.py, not capeval.shapes.salt or capeval.shapesystem"
    )
    assert apply_edits(text, list_text_edits(text, TABLE)) == (
        "see capeval.base.solids.write and src/capeval/base/solids.py,"
        " not capeval.shapes.salt or capeval.shapesystem"
    )


def test_a_name_that_is_used_already_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot rename 'shapes' to 'solids'"):
        rename("from capeval import shapes\nsolids = shapes\n")
