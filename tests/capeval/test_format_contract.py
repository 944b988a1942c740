"""Contract of caption formats: a registered format, also one of another distribution, is read everywhere."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import capeval
from capeval.cli.app import app
from capeval.errors import FormatError
from capeval.formats.base import CaptionFormat
from capeval.formats.registry import FORMATS
from tests.plugins import install_toy, plugins_in

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The distribution of the toys, installed, with a page of its format."""
    folder = install_toy(tmp_path_factory.mktemp("toys"))
    (folder / "formats.md").write_text("| toy captions | `IMAGE -> CAPTION` in each line after the first |\n")
    with pytest.MonkeyPatch.context() as patch, plugins_in(folder, patch, ["capeval_toy"]):
        yield folder


def _zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("captions", data)
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zip": _zipped}


@pytest.mark.parametrize("name", [*FORMATS, "toy captions"])
def test_a_format_is_read_everywhere(
    name: str, toys: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    kind = FORMATS[name]
    assert kind.name == name
    data = kind.example()
    readers = _readers(kind)
    assert readers
    for reader in readers:
        for ending, pack in PACKED.items():
            path = tmp_path / f"captions{ending}"
            path.write_bytes(pack(data))
            captions = reader(path)
            assert [*captions.values()] == [["A dog."], ["Two cats."]]
        _check_errors(reader, data, tmp_path / "damaged")
    path = tmp_path / "captions"
    paths = [toys / "formats.md", PROJECT / "docs" / "reference" / "formats.md"]
    lines = [line.lower() for page in paths for line in page.read_text(encoding="utf-8").splitlines()]
    words = name.removeprefix("a ").lower()
    assert any(line.startswith((f"| {words} |", f"| [{words}](")) for line in lines), (
        "no row in docs/reference/formats.md"
    )
    if capeval.load_candidates in readers:
        app.main(args=["check", str(path)], standalone_mode=False)
        assert b"is valid: 2 captions" in capfdbinary.readouterr().out
    captions = readers[0](path)
    other = tmp_path / "other.json"
    capeval.formats.write_candidates(capeval.Candidates(dict(captions)), other)
    score = ["score", str(path), str(other)] if capeval.load_references in readers else ["check", str(path)]
    app.main(args=[*score, *(["-m", "BLEU-1"] if "score" in score else [])], standalone_mode=False)
    assert capfdbinary.readouterr().out


def _readers(kind: CaptionFormat) -> list[Callable[[Path], capeval.References | capeval.Candidates]]:
    """Return the functions that read the format, such as `load_references`."""
    pairs = ((kind.references, capeval.load_references), (kind.candidates, capeval.load_candidates))
    return [reader for read, reader in pairs if read is not None]


def _check_errors(reader: Callable[[Path], object], data: bytes, path: Path) -> None:
    """Check that a damaged file is an error with the name and, in text, with a line, entry or field."""
    errors = []
    for place in range(len(data)):
        start, end = data[:place], data[place + 1 :]
        for damaged in (start, start + end, start + b"#" + end):
            path.write_bytes(damaged)
            with suppress(FormatError):
                reader(path)
                continue
            with pytest.raises(FormatError) as caught:
                reader(path)
            assert str(caught.value).startswith(str(path)), damaged
            errors.append(caught.value)
    assert errors
    assert b"\0" in data or any(error.line or error.entry or error.field for error in errors)


def test_plugins_do_not_change_how_files_are_read(tmp_path: Path) -> None:
    own = [kind for name, kind in FORMATS.items() if name != "toy captions"]
    assert [kind.priority for kind in own] != []
    assert len({kind.priority for kind in own}) == len(own)
    with pytest.raises(FormatError, match=r"supported formats for references: .*toy captions"):
        capeval.load_references(b"nothing that is known", name="captions")
    with pytest.raises(FormatError, match="line 2"):
        capeval.load_references(b"toy captions\n1 A dog.\n", name="captions")
