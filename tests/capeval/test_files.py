"""Files are written whole or not at all."""

import errno
import resource
from pathlib import Path

import pytest

from capeval._internal.atomic_write import atomic_write


def test_a_file_without_room_is_named_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="file") as caught, atomic_write(path) as file:
            file.write(bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]


def test_a_file_that_cannot_be_replaced_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows, a file that a program has open or maps into memory can't be replaced."""
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Access is denied", str(source), None, str(target))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(PermissionError) as caught, atomic_write(path) as file:
        file.write(b"new")
    assert (caught.value.filename, caught.value.filename2) == (str(path), None)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]
