"""Document frequencies: saved and loaded, read from pickles, refused when damaged or dangerous."""

import collections
import contextlib
import io
import json
import os
import pickle
import pickletools
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capeval import Cider2015, CiderD, DocumentFrequencies, References, Tokenizer, _native
from capeval.errors import CapevalWarning, CaptionError, FormatError, OptionError
from capeval.tokenizers import TOKENIZERS
from tests.properties.strategies import Corpus, corpora
from tests.twins import cider
from tests.twins.scoring import native

TOKENS = Tokenizer(kind="none")
CORPUS = {
    1: ["a dog runs on the grass", "the dog runs"],
    2: ["a cat sits on the café", "25\u00a01/2 cats"],
    3: ["the dogs are running on grass", ""],
}
REFERENCES = [["a dog runs on grass"], ["the cat sits", "a cat"]]
CANDIDATES = ["the dog runs on the grass", "a cat on a bench"]


def frequencies(*, stem: bool = False) -> DocumentFrequencies:
    return DocumentFrequencies.of(References(CORPUS), tokenizer=TOKENS, stem=stem, name="three images")


def test_a_written_pickle_gives_equal_scores_and_0_for_other_ngrams(tmp_path: Path) -> None:
    path = tmp_path / "three-images.p"
    made = frequencies()
    made.save_pickle(path)
    loaded = DocumentFrequencies.load_pickle(path)
    assert (loaded.name, loaded.images, loaded.counts()) == ("three-images", 3, made.counts())
    assert loaded.digest == made.digest
    before, after = (native(CiderD(frequencies=f), REFERENCES, CANDIDATES) for f in (made, loaded))
    assert before == after
    # As training scripts read it: they look up any n-gram.
    content = pickle.loads(path.read_bytes(), encoding="latin1")
    assert (content["ref_len"], content["document_frequency"]["a", "dog"]) == (3, 0.0)
    assert content["document_frequency"]["grass",] == 2.0
    assert pickletools.optimize(path.read_bytes())[:2] == b"\x80\x02"


def test_a_pickle_of_images_without_a_common_ngram_can_be_read(tmp_path: Path) -> None:
    made = DocumentFrequencies.of({1: ["a"], 2: ["b"]}, tokenizer=TOKENS)
    made.save_pickle(tmp_path / "two.p")
    loaded = DocumentFrequencies.load_pickle(tmp_path / "two.p")
    assert (loaded.images, loaded.counts()) == (2, {})


def test_stems_are_not_written_for_scripts_that_compare_words(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"must count words \(got frequencies of stems\)"):
        frequencies(stem=True).save_pickle(tmp_path / "stems.p")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stem", [False, True])
def test_saved_and_loaded_ones_give_equal_scores(stem: bool, tmp_path: Path) -> None:
    path = tmp_path / "frequencies.npz"
    made = frequencies(stem=stem)
    made.save(path)
    loaded = DocumentFrequencies.load(path)
    assert (loaded.name, loaded.stem, loaded.images) == ("three images", stem, 3)
    assert loaded.counts() == made.counts()
    make: Callable[..., Any] = Cider2015 if stem else CiderD
    before, after = (native(make(frequencies=f), REFERENCES, CANDIDATES) for f in (made, loaded))
    assert before == after
    assert before.corpus[0] > 0


@given(corpus=corpora())
def test_any_corpus_survives_saving(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("df") / "frequencies.npz"
    made = DocumentFrequencies.of(References(dict(enumerate(corpus.references))), tokenizer=TOKENS)
    made.save(path)
    assert DocumentFrequencies.load(path).counts() == made.counts()


def test_those_of_the_references_are_the_default() -> None:
    own = DocumentFrequencies.of(References(dict(enumerate(REFERENCES))), tokenizer=TOKENS)
    assert native(CiderD(frequencies=own), REFERENCES, CANDIDATES) == native(CiderD(), REFERENCES, CANDIDATES)


def test_stems_are_counted_together() -> None:
    counts = frequencies(stem=True).counts()
    assert counts["dog",] == 2
    assert counts["run",] == 2
    assert ("dogs",) not in counts


def test_stems_and_words_do_not_mix() -> None:
    with pytest.raises(OptionError, match="'frequencies' of CIDEr-D must count unstemmed words"):
        CiderD(frequencies=frequencies(stem=True)).prepare({1: ["a"]})
    with pytest.raises(OptionError, match="'frequencies' of CIDEr-2015 must count stems"):
        Cider2015(frequencies=frequencies()).prepare({1: ["a"]})


COUNTS = cider.document_frequencies(list(CORPUS.values()))
# One image weighs as none does, so n-grams of one image are not kept.
KEPT = {ngram: count for ngram, count in COUNTS.items() if count > 1}


def python_2_pickle(counts: dict[tuple[str, ...], float], *, default: bool) -> bytes:
    """Return a protocol 2 pickle as written by Python 2: byte string words, floats, maybe a defaultdict."""

    def text(word: str) -> bytes:
        data = word.encode()
        return b"U" + bytes([len(data)]) + data

    parts = [b"\x80\x02", b"ccollections\ndefaultdict\nc__builtin__\nfloat\n\x85R" if default else b"}", b"("]
    for ngram, count in counts.items():
        words = b"".join(text(word) for word in ngram)
        tuples = {1: words + b"\x85", 2: words + b"\x86", 3: words + b"\x87", 4: b"(" + words + b"t"}
        parts += [tuples[len(ngram)], b"G" + struct.pack(">d", count)]
    return b"".join([*parts, b"u."])


def test_the_python_2_pickles_are_pickles() -> None:
    for default in (True, False):
        assert pickle.loads(python_2_pickle(dict(COUNTS), default=default), encoding="utf-8") == COUNTS


def _default(counts: dict[Any, Any]) -> dict[Any, Any]:
    return collections.defaultdict(float, counts)


PICKLES = {
    "mapping": pickle.dumps(dict(COUNTS)),
    "counter": pickle.dumps(COUNTS),
    "defaultdict of floats": pickle.dumps(_default({ngram: float(n) for ngram, n in COUNTS.items()})),
    "protocol 2": pickle.dumps(_default(COUNTS), protocol=2),
    "protocol 0": pickle.dumps(dict(COUNTS), protocol=0),
    "Python 2": python_2_pickle(dict(COUNTS), default=False),
    "Python 2 defaultdict": python_2_pickle(dict(COUNTS), default=True),
}
TRAINING_PICKLES = {
    "training": pickle.dumps({"document_frequency": _default(COUNTS), "ref_len": 3}),
    "training, float": pickle.dumps({"document_frequency": dict(COUNTS), "ref_len": 3.0}, protocol=2),
}


@pytest.mark.parametrize("kind", PICKLES)
def test_pickled_mappings(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "coco-val-df.p"
    path.write_bytes(PICKLES[kind])
    loaded = DocumentFrequencies.load_pickle(path, images=3)
    assert loaded.counts() == KEPT
    assert (loaded.images, loaded.name, loaded.stem) == (3, "coco-val-df", False)
    expected = native(CiderD(frequencies=frequencies()), REFERENCES, CANDIDATES)
    assert native(CiderD(frequencies=loaded), REFERENCES, CANDIDATES) == expected
    with pytest.raises(
        OptionError, match="does not contain the number of images counted; set it with 'images'"
    ):
        DocumentFrequencies.load_pickle(path)


@pytest.mark.parametrize("kind", TRAINING_PICKLES)
def test_pickles_of_training_scripts_know_their_images(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "train-words.p"
    path.write_bytes(TRAINING_PICKLES[kind])
    loaded = DocumentFrequencies.load_pickle(path)
    assert loaded.counts() == KEPT
    assert loaded.images == 3


@pytest.mark.parametrize("images", [2, 4])
def test_a_pickle_and_an_argument_must_agree(images: int, tmp_path: Path) -> None:
    path = tmp_path / "train-words.p"
    for content in TRAINING_PICKLES.values():
        path.write_bytes(content)
        assert DocumentFrequencies.load_pickle(path, images=3).images == 3
        with pytest.raises(
            OptionError, match=rf"'images' must equal the number in .*, 3(\.0)? \(got {images}\)"
        ):
            DocumentFrequencies.load_pickle(path, images=images)


@pytest.mark.parametrize("said", [0, -1, "3", True, float("nan"), 10**400])
def test_the_number_of_images_in_a_pickle_is_checked(said: object, tmp_path: Path) -> None:
    path = tmp_path / "train-words.p"
    path.write_bytes(pickle.dumps({"document_frequency": {("a",): 1}, "ref_len": said}))
    with pytest.raises(FormatError, match="got the number of images"):
        DocumentFrequencies.load_pickle(path)


def test_a_mapping_will_do() -> None:
    counted = DocumentFrequencies.of(CORPUS, tokenizer=TOKENS)
    assert counted.counts() == frequencies().counts()
    with pytest.raises(CaptionError, match="references must be a mapping"):
        DocumentFrequencies.of("a dog")
    with pytest.raises(OptionError, match="'stem' must be True or False"):
        DocumentFrequencies.of(CORPUS, stem="no")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'name' must be a string"):
        DocumentFrequencies.of(CORPUS, name=None)  # type: ignore[arg-type]


@given(corpus=corpora(), seed=st.integers(0, 2**32))
def test_a_digest_is_of_the_counts_alone(
    corpus: Corpus, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    groups = dict(enumerate(corpus.references))
    shuffled = {image: groups[image] for image in random.Random(seed).sample(sorted(groups), len(groups))}
    made, other = (DocumentFrequencies.of(given, tokenizer=TOKENS) for given in (groups, shuffled))
    assert made.digest == other.digest
    path = tmp_path_factory.mktemp("df") / "frequencies"
    made.save(path)
    assert DocumentFrequencies.load(path).digest == made.digest
    if made.counts():
        path.write_bytes(pickle.dumps({"document_frequency": made.counts(), "ref_len": made.images}))
        assert DocumentFrequencies.load_pickle(path).digest == made.digest


def test_digests_tell_counts_apart(tmp_path: Path) -> None:
    path = tmp_path / "df.p"
    different: list[tuple[dict[tuple[str, ...], int], int]] = [
        ({("a",): 2, ("b",): 3}, 9),
        ({("a",): 3, ("b",): 2}, 9),
        ({("a",): 2, ("b",): 3}, 10),
        ({("a",): 2, ("c",): 3}, 9),
        ({("a", "b"): 2}, 9),
        ({("b", "a"): 2}, 9),
        ({("a", "a"): 2}, 9),
        ({("b", "b"): 2}, 9),
        ({("a", "b", "a"): 2}, 9),
        ({("ab",): 2}, 9),
    ]
    digests = set()
    for counts, images in different:
        path.write_bytes(pickle.dumps(counts))
        digests.add(DocumentFrequencies.load_pickle(path, images=images).digest)
    assert len(digests) == len(different)


class Runs:
    """Pickles to a call of any function."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("shape", [lambda evil: evil, lambda evil: {("a",): evil}, lambda evil: {(evil,): 1}])
def test_nothing_in_a_pickle_is_executed(
    shape: Callable[[object], object], protocol: int, tmp_path: Path
) -> None:
    marker, path = tmp_path / "marker", tmp_path / "evil.p"
    calls = [
        Runs(os.system, f"touch {marker}"),
        Runs(eval, f"open({str(marker)!r}, 'w')"),
        Runs(marker.touch),
    ]
    for call in calls:
        path.write_bytes(pickle.dumps(shape(call), protocol=protocol))
        with pytest.raises(FormatError, match="which is not allowed") as caught:
            DocumentFrequencies.load_pickle(path, images=3)
        assert caught.value.path == path
        assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ([1, 2], "got list"),
        ({}, "got dict"),
        ({"a": 1}, "got the n-gram 'a'"),
        ({("a", 1): 1}, r"got the n-gram \('a', 1\)"),
        ({(): 1}, r"got the n-gram \(\)"),
        ({("a",) * 5: 1}, "got the n-gram"),
        ({("a",): -1}, "got the count -1"),
        ({("a",): "1"}, "got the count '1'"),
        ({("a",): True}, "got the count True"),
        ({("a",): 1.5}, "not an integer"),
        ({("a",): float("nan")}, "got the count nan"),
        ({("a",): float("inf")}, "got the count inf"),
        ({("a",): 2**32}, "got the count 4294967296"),
        ({("\ud800",): 1}, "got a word with a lone surrogate"),
    ],
)
def test_other_pickles_are_refused(content: object, found: str, tmp_path: Path) -> None:
    path = tmp_path / "other.p"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(FormatError, match=found) as caught:
        DocumentFrequencies.load_pickle(path, images=3)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("images", [0, -1, float("nan"), float("inf"), True, "3"])
def test_the_number_of_images_is_checked(images: Any, tmp_path: Path) -> None:
    path = tmp_path / "df.p"
    path.write_bytes(PICKLES["mapping"])
    with pytest.raises(OptionError, match="'images' must be a number above 0"):
        DocumentFrequencies.load_pickle(path, images=images)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_pickles_are_refused_by_name(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "damaged.p"
    whole = PICKLES["Python 2 defaultdict"]
    path.write_bytes(damaged(data, whole))
    # Some damage goes unseen, such as another letter in a word; the rest must be this error.
    with contextlib.suppress(FormatError):
        DocumentFrequencies.load_pickle(path, images=3)


@pytest.mark.parametrize("put", [b"r\xff\xff\xff\x5f", b"p1610612735\n", b"pone\n"])
def test_objects_that_a_pickle_numbers_take_no_more_memory_than_it(put: bytes, tmp_path: Path) -> None:
    path = tmp_path / "numbered.p"
    path.write_bytes(b"\x80\x02}" + put + b".")
    with pytest.raises(FormatError, match=r"byte 3: (memo index 1610612735 is too large|invalid memo index)"):
        DocumentFrequencies.load_pickle(path, images=3)


def arguments(operation: pickletools.OpcodeInfo) -> bytes:
    """The shortest argument of an operation that is whole."""
    kind = operation.arg
    if kind is None:
        return b""
    if kind.n >= 0:
        return bytes(kind.n)
    if kind.n == pickletools.UP_TO_NEWLINE:
        return b"0\n" * (2 if kind.name == "stringnl_noescape_pair" else 1)
    # A count, and one byte.
    width = {pickletools.TAKEN_FROM_ARGUMENT4: 4, pickletools.TAKEN_FROM_ARGUMENT4U: 4}.get(kind.n)
    width = width or {pickletools.TAKEN_FROM_ARGUMENT1: 1, pickletools.TAKEN_FROM_ARGUMENT8U: 8}[kind.n]
    return (1).to_bytes(width, "little") + b"0"


def test_every_operation_of_pickles_is_known() -> None:
    for operation in pickletools.opcodes:
        code = operation.code.encode("latin-1")
        argument = arguments(operation)
        _native.check_pickle(code + argument + b"." * (operation.name != "STOP"))
        for short in range(len(argument)):
            with pytest.raises(ValueError, match="byte 0"):
                _native.check_pickle(code + argument[:short])


def test_other_bytes_are_no_operations_of_pickles() -> None:
    known = {ord(operation.code) for operation in pickletools.opcodes}
    for byte in set(range(256)) - known:
        with pytest.raises(ValueError, match="byte 0 is not a pickle operation"):
            _native.check_pickle(bytes([byte]) + b".")


@settings(max_examples=300)
@given(data=st.data())
def test_a_pickle_that_python_can_take_apart_passes(data: st.DataObject) -> None:
    pickled = damaged(data, PICKLES[data.draw(st.sampled_from(sorted(PICKLES)))])
    try:
        for operation, argument, place in pickletools.genops(pickled):
            # Python's unpickler misses the rest of a frame.
            if operation.name == "FRAME" and len(pickled) < (place or 0) + 9 + int(argument or 0):
                return
    except ValueError:
        return
    refused = ""
    try:
        _native.check_pickle(pickled)
    except ValueError as error:
        refused = str(error)
    assert not refused or "memo index" in refused


@pytest.mark.parametrize("kind", ["mapping", "protocol 0", "Python 2 defaultdict"])
def test_every_damaged_byte_takes_little_memory(kind: str, tmp_path: Path) -> None:
    whole = PICKLES[kind]
    for place in range(len(whole)):
        for byte in b"rpB\x8e\x96":
            pickled = whole[:place] + bytes([byte]) + whole[place + 1 :]
            (tmp_path / "damaged.p").write_bytes(pickled)
            tracemalloc.start()
            with contextlib.suppress(FormatError):
                DocumentFrequencies.load_pickle(tmp_path / "damaged.p", images=3)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 2**20, pickled


def damaged(data: st.DataObject, whole: bytes) -> bytes:
    """Cut short, or with one byte changed."""
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        return whole[:place]
    return whole[:place] + bytes([data.draw(st.integers(0, 255))]) + whole[place + 1 :]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused_by_name(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "damaged.npz"
    frequencies().save(path)
    path.write_bytes(damaged(data, path.read_bytes()))
    with contextlib.suppress(FormatError):
        DocumentFrequencies.load(path)


def archive(**arrays: Any) -> bytes:
    about = {"format": "capeval document frequencies 1", "name": "x", "images": 2, "stem": False}
    about |= arrays.pop("about", {})
    content: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    content["words"] = np.frombuffer(b'["a", "dog"]', np.uint8)
    for n in range(1, 5):
        content[f"ngrams_{n}"] = np.zeros((1, n), np.uint32)
        content[f"counts_{n}"] = np.full(1, 2, np.uint32)
    content |= arrays
    file = io.BytesIO()
    np.savez_compressed(file, **{name: array for name, array in content.items() if array is not None})
    return file.getvalue()


def _zip(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as whole:
        whole.writestr(name, "x")
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        PICKLES["mapping"],
        _zip("about.npy"),
        _zip("other.txt"),
        archive(about={"format": "capeval document frequencies 2"}),
        archive(about={"images": "many"}),
        archive(about={"images": 0}),
        archive(about={"images": -3}),
        archive(about={"digest": 7}),
        archive(about={"images": float("nan")}),
        archive(words=None),
        archive(words=np.frombuffer(b'["a", "a"]', np.uint8)),
        archive(words=np.frombuffer(b'["a", "\xff"]', np.uint8)),
        archive(words=np.frombuffer(b'["a", 2]', np.uint8)),
        archive(words=np.frombuffer(b'"ab"', np.uint8)),
        archive(words=np.array(["a", "dog"], dtype=object)),
        archive(ngrams_2=np.full((1, 2), 2, np.uint32)),
        archive(ngrams_2=np.zeros((1, 2), np.int64)),
        archive(ngrams_2=np.zeros((2, 2), np.uint32)),
        archive(ngrams_2=np.zeros((1, 3), np.uint32)),
        archive(counts_3=np.ones((1, 1), np.uint32)),
        archive(counts_3=None),
    ],
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="expected document frequencies from") as caught:
        DocumentFrequencies.load(path)
    assert str(path) in str(caught.value)


def test_the_error_for_a_pickle_names_the_other_function(tmp_path: Path) -> None:
    path = tmp_path / "coco.p"
    frequencies().save_pickle(path)
    with pytest.raises(FormatError, match=r"load a pickle with `DocumentFrequencies\.load_pickle`$"):
        DocumentFrequencies.load(path)


def test_an_archive_that_is_right_is_read(tmp_path: Path) -> None:
    path = tmp_path / "right.npz"
    path.write_bytes(archive())
    assert DocumentFrequencies.load(path).counts()["a", "a"] == 2


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        DocumentFrequencies.load(tmp_path / "none.npz")
    with pytest.raises(FileNotFoundError):
        DocumentFrequencies.load_pickle(tmp_path / "none.p", images=1)


def test_saving_where_nothing_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        frequencies().save(tmp_path / "no folder" / "df.npz")
    assert list(tmp_path.iterdir()) == []


def test_frequencies_of_another_tokenizer_are_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "corpus.npz"
    DocumentFrequencies.of(References(CORPUS), name="corpus").save(path)
    loaded = DocumentFrequencies.load(path)
    assert pickle.loads(pickle.dumps(loaded)).tokenizer == loaded.tokenizer
    metric = CiderD(frequencies=loaded)
    metric.prepare(CORPUS)
    metric.prepare(CORPUS, tokenizer=Tokenizer(line_ends="reference"))
    metric = CiderD(frequencies=DocumentFrequencies.load(path))
    message = (
        r"corpus were counted with the tokenizer ptb-3.4.1-.*, but the captions have char; use one tokenizer"
    )
    with pytest.warns(CapevalWarning, match=message):
        metric.prepare(CORPUS, tokenizer=TOKENIZERS["char"])
    # Once for all batches.
    metric.prepare(CORPUS, tokenizer=TOKENIZERS["char"])


@pytest.mark.parametrize("images", [100, 1000])
def test_frequencies_of_other_tokens_are_warned_about(tmp_path: Path, images: int) -> None:
    path = tmp_path / "coco-train-idxs.p"
    words = [f"w{number}" for number in range(30)]
    generator = random.Random(0)
    corpus = {image: [" ".join(generator.choices(words, k=8)) for _ in range(2)] for image in range(images)}
    DocumentFrequencies.of(corpus, tokenizer=TOKENS).save_pickle(path)
    loaded = DocumentFrequencies.load_pickle(path)
    metric = CiderD(frequencies=loaded)
    metric.prepare({1: ["w1 w2 w3"]}, tokenizer=TOKENS)
    numbers = {1: [" ".join(map(str, range(25)))]}
    # Too few pairs of words.
    metric.prepare({1: ["1 2 3"]}, tokenizer=TOKENS)
    with pytest.warns(
        CapevalWarning, match="coco-train-idxs contain nearly no pair of words of the references"
    ):
        metric.prepare(numbers, tokenizer=TOKENS)
    metric = CiderD(frequencies=DocumentFrequencies.load_pickle(path))
    metric.prepare({image: corpus[image] for image in range(5)}, tokenizer=TOKENS)
    metric.prepare(numbers, tokenizer=TOKENS)
