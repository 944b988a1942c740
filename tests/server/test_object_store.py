"""Files in a store that speaks S3: S3Proxy, which runs here for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.base import ContentFile

from capeval_server.core.object_store import ObjectStore
from tests.ports import reserved_port
from tests.server import hosts


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hosts.ObjectStore]:
    reserved, port = reserved_port()
    made = hosts.ObjectStore(tmp_path_factory.mktemp("store"), "127.0.0.1", port)
    yield made
    made.end()
    reserved.close()


@pytest.fixture
def store(running: hosts.ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ObjectStore:
    for name, value in running.env.items():
        monkeypatch.setenv(name, value)
    return ObjectStore(bucket_name=running.bucket, location=tmp_path.name)


def test_files_are_stored_read_listed_and_deleted(store: ObjectStore) -> None:
    name = store.save("submissions/a b.json", ContentFile(b"[1, 2]"))
    assert name == "submissions/a b.json"
    # Nothing is written over.
    other = store.save("submissions/a b.json", ContentFile(b"[3]"))
    assert other != name
    assert store.listdir("submissions") == ([], sorted(path.partition("/")[2] for path in (name, other)))
    assert (store.size(name), store.exists(name)) == (6, True)
    with store.open(name) as file:
        assert (file.name, file.read()) == (name, b"[1, 2]")
    with store.open(other) as file:
        assert b"".join(file.chunks()) == b"[3]"
    store.delete(name)
    store.delete(name)
    assert not store.exists(name)
    assert store.listdir("references") == ([], [])


def test_a_missing_file_is_said_to_be_missing(store: ObjectStore) -> None:
    for ask in (store.open, store.size, store.get_modified_time):
        with pytest.raises(FileNotFoundError, match=r"submissions/none\.json"):
            ask("submissions/none.json")


def test_what_the_store_refuses_is_an_error_of_files(
    running: hosts.ObjectStore, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.check()
    with pytest.raises(FileNotFoundError, match="no-such-bucket"):
        ObjectStore(bucket_name="no-such-bucket").check()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(OSError, match="the object store rejected"):
        ObjectStore(bucket_name=running.bucket).save("a", ContentFile(b"a"))


def test_a_store_that_does_not_answer_is_an_error_of_files(
    running: hosts.ObjectStore, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved, port = reserved_port()
    with reserved:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
        gone = ObjectStore(bucket_name=running.bucket)
        with pytest.raises(OSError, match="the object store does not respond"):
            gone.save("a", ContentFile(b"a"))
