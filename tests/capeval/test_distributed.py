"""Partial document frequencies, statistics and sums: merging and validation errors."""

import gc
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from capeval import (
    Bleu,
    Candidates,
    CiderD,
    DocumentFrequencies,
    Evaluator,
    References,
    Report,
    RougeL,
    Spice,
    Spider,
    Tokenizer,
    _native,
    evaluate,
    load_references,
    set_threads,
)
from capeval.distributed import PartialFrequencies, Sums, build_report, build_statistics_table
from capeval.distributed.statistics_table import column_names
from capeval.errors import (
    CapevalError,
    DependencyError,
    FormatError,
    MismatchError,
    OptionError,
    ResourceError,
)
from capeval.formats import write_references
from capeval.formats.caption_files import _read_again as _references_again
from capeval.metrics import METRICS, Metric
from capeval.metrics.registry import list_metric_keys, resolve
from capeval.resources.document_frequencies import _read_again
from capeval.resources.spice import find_model
from tests.spice_model import NEEDS_MODEL

TOKENS = Tokenizer(kind="none")
A = {1: ["a dog runs", "the dog"], 2: ["a cat sits on grass"]}
B = {3: ["two birds", "a bird", "a dog runs"]}
CANDIDATES = {1: "a dog", 2: "a cat", 3: "a bird"}
METRICS_GIVEN = [Bleu(), RougeL(), CiderD(frequencies=DocumentFrequencies.of(A | B, tokenizer=TOKENS))]


def counted(references: Any = A, **options: Any) -> PartialFrequencies:
    return PartialFrequencies.of(references, **{"tokenizer": TOKENS, **options})


def report(references: Any = A, metrics: Any = METRICS_GIVEN, tokenizer: Tokenizer = TOKENS) -> Report:
    candidates = {image: CANDIDATES[image] for image in references}
    return evaluate(references, candidates, metrics, tokenizer=tokenizer)


def test_a_table_of_ngrams_has_the_number_of_images_and_how_they_were_counted() -> None:
    table = counted().to_arrow()
    assert table.schema == pa.schema([("ngram", pa.string()), ("images", pa.int64())])
    rows = dict(zip(*table.to_pydict().values(), strict=True))
    assert rows[" counted|stem=False|tokenizer=none"] == 2
    assert (rows["a"], rows["dog"], rows["a dog runs"], rows["cat sits on grass"]) == (2, 1, 1, 1)


def test_ngrams_of_one_image_may_be_left_out() -> None:
    table = (counted(A) + counted(B)).to_arrow()
    again = PartialFrequencies.from_arrow(table.filter(pa.compute.greater(table["images"], 1)))
    assert again.finish().digest == DocumentFrequencies.of(A | B, tokenizer=TOKENS).digest


def test_a_slice_and_a_frame_of_pandas_are_read() -> None:
    table = counted().to_arrow()
    shifted = pa.concat_tables([table.slice(3), table, table.slice(0, 3)]).slice(len(table) - 3, len(table))
    for given in (
        shifted,
        table.to_pandas(),
        table.cast(pa.schema([("ngram", pa.large_string()), ("images", pa.int32())])),
    ):
        assert PartialFrequencies.from_arrow(given).finish().digest == counted().finish().digest


def test_frequencies_of_a_selection_have_the_digest_that_they_are_given(tmp_path: Path) -> None:
    finished = counted().finish("web", digest="all-of-it")
    assert CiderD(frequencies=finished).document_frequencies == "web:all-of-it"
    assert pickle.loads(pickle.dumps(finished)).digest == "all-of-it"
    finished.save(tmp_path / "selected.npz")
    assert DocumentFrequencies.load(tmp_path / "selected.npz").digest == "all-of-it"
    assert counted().finish("web").digest == DocumentFrequencies.of(A, tokenizer=TOKENS).digest
    with pytest.raises(OptionError, match=r"'digest' must be"):
        counted().finish(digest=3)  # type: ignore[arg-type]


def test_frequencies_by_path_pickle_as_their_path(tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    counted(A | B).finish("web").save(path)
    given = DocumentFrequencies.load(path, by_path=True)
    metric = CiderD(frequencies=given)
    data = pickle.dumps(metric)
    assert len(data) < 1_000
    again = pickle.loads(data)
    assert again.document_frequencies == metric.document_frequencies
    # Once in a process, however many tasks it is sent with.
    assert again.frequencies is pickle.loads(pickle.dumps(again)).frequencies
    assert again.frequencies.counts() == given.counts()
    assert len(pickle.dumps(DocumentFrequencies.load(path))) > 100
    counted(A).finish("web").save(path)
    _read_again.cache_clear()
    with pytest.raises(ResourceError, match=r"counts.npz: .* digest [0-9a-f]{8}, got [0-9a-f]{8}\)"):
        pickle.loads(data)
    path.unlink()
    with pytest.raises(ResourceError, match=r"counts.npz: cannot read the document frequencies of a pickle"):
        pickle.loads(data)
    with pytest.raises(OptionError, match=r"'by_path' must be True or False \(got 1\)"):
        DocumentFrequencies.load(path, by_path=1)  # type: ignore[arg-type]


def test_references_by_path_pickle_as_their_path(tmp_path: Path) -> None:
    path = tmp_path / "references.json"
    write_references(References(A | B), path)
    given = load_references(path, by_path=True)
    for made in (Evaluator(given, ["BLEU", "CIDEr-D"], tokenizer=TOKENS), CiderD().prepare(given)):
        assert len(pickle.dumps(made)) < 2_000
    data = pickle.dumps(given)
    again = pickle.loads(data)
    assert (again, again.image_ids) == (given, given.image_ids)
    # Once in a process, however many tasks it is sent with.
    assert again.native is pickle.loads(pickle.dumps(References(again))).native
    candidates = {image: captions[0] for image, captions in (A | B).items()}
    report = Evaluator(given, ["CIDEr-D"], tokenizer=TOKENS).evaluate(candidates)
    prepared = pickle.loads(pickle.dumps(Evaluator(given, ["CIDEr-D"], tokenizer=TOKENS)))
    assert prepared.evaluate(candidates).corpus == report.corpus
    write_references(References(A), path)
    _references_again.cache_clear()
    with pytest.raises(ResourceError, match=r"references\.json: the references changed after the pickle"):
        pickle.loads(data)
    path.unlink()
    with pytest.raises(ResourceError, match=r"references\.json: cannot read the references of a pickle"):
        pickle.loads(data)
    with pytest.raises(OptionError, match=r"'by_path' must be True or False \(got 1\)"):
        load_references(path, by_path=1)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"'by_path' requires the path of a file \(got bytes\)"):
        load_references(b"{}", by_path=True)


def test_a_pickle_of_captions_is_smaller_than_the_captions() -> None:
    # As long as those of COCO, of words that come again.
    words = [
        "a",
        "man",
        "riding",
        "wave",
        "on",
        "top",
        "of",
        "surfboard",
        "in",
        "the",
        "ocean",
        "with",
        "people",
    ]
    captions = {image: [" ".join(words[k % 13] for k in range(image, image + 11))] for image in range(2_000)}
    for kind in (References, Candidates):
        given = kind(captions)
        data = pickle.dumps(given)
        assert len(data) < sum(len(text) for (text,) in captions.values()) / 2
        assert pickle.loads(data) == given
        assert type(pickle.loads(data)) is kind
    strange = {"é": ['"\\', "\0", ""], "\U0001f600": ["\u2028\n"]}
    assert dict(pickle.loads(pickle.dumps(References(strange)))) == strange


def _ngrams(*rows: tuple[Any, Any], images: int = 2) -> pa.Table:
    mark = (" counted|stem=False|tokenizer=none", images)
    ngrams, counts = zip(mark, *rows, strict=True)
    return pa.table({"ngram": pa.array(ngrams, pa.string()), "images": pa.array(counts, pa.int64())})


WRONG_NGRAMS: list[tuple[Callable[[], object], str]] = [
    (lambda: [1], r"must be an Arrow table \(got list"),
    (
        lambda: pa.table({"ngram": ["a"], "images": [1]}).to_pandas().assign(images=[2**70]),
        r"must be an Arrow table \(got DataFrame: ",
    ),
    (lambda: pa.table({"ngram": ["a"]}), r"must have the columns 'ngram', 'images' \(got 'ngram'\)"),
    (lambda: pa.table({"ngram": [1], "images": [1]}), r"'ngram' must have the type string \(got int64\)"),
    (
        lambda: pa.table({"ngram": ["a"], "images": ["x"]}),
        r"'images' must have the type int64 \(got string\)",
    ),
    (
        lambda: pa.table({"ngram": ["a"], "images": pa.array([2**63], pa.uint64())}),
        r"'images' must have the type int64 \(.*9223372036854775808 not in range",
    ),
    (lambda: _ngrams(("a", 1), (None, 1)), r"row 2 must have a value in 'ngram' \(got null\)"),
    (lambda: _ngrams(("a", 1), ("b", None)), r"row 2 must have a value in 'images' \(got null\)"),
    (lambda: _ngrams(("a", 1), ("a  b", 1)), r"row 2 must have one to four words .*\(got 'a  b'\)"),
    (lambda: _ngrams(("a b c d e", 1)), r"row 1 must have one to four words"),
    (lambda: _ngrams(("a", 1), ("", 1)), r"row 2 must have one to four words .*\(got ''\)"),
    (lambda: _ngrams(("a", 3)), r"row 1: 'a' must be in 0 to 2 images.*\(got 3\)"),
    (lambda: _ngrams(("a", 1), ("b", 1), ("a", 2)), r"row 3: 'a' must be in 0 to 2 images.*\(got 2\)"),
    (lambda: _ngrams(("a", -1)), r"row 1: 'a' must be in 0 to 2 images"),
    (lambda: _ngrams(("a", 1)).slice(1), r"must have a row that starts with ' counted' \(got none\)"),
    (lambda: _ngrams(("a", 1), images=0), r"must have 1 to 4,294,967,295 images \(got 0\)"),
    (
        lambda: pa.table({"ngram": [" x"], "images": [1]}),
        r"row 0 must be an n-gram, or start with ' counted'",
    ),
]


@pytest.mark.parametrize(("table", "message"), WRONG_NGRAMS)
def test_wrong_ngrams_are_refused(table: Callable[[], object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        PartialFrequencies.from_arrow(table())


def test_counts_that_are_not_alike_do_not_add() -> None:
    with pytest.raises(MismatchError, match=r"the same stem \(got False and True\)"):
        counted(A) + counted(B, stem=True)
    with pytest.raises(MismatchError, match=r"the same tokenizer \(got none and ptb-3.4.1-lower"):
        counted(A) + counted(B, tokenizer=Tokenizer())
    tables = pa.concat_tables([counted(A).to_arrow(), counted(B, stem=True).to_arrow()])
    with pytest.raises(MismatchError, match=r"must have the same settings \(got stem=False.* and stem=True"):
        PartialFrequencies.from_arrow(tables)
    with pytest.raises(TypeError):
        counted(A) + 1
    many = _ngrams(("a", 1), images=2**32 - 1)
    with pytest.raises(MismatchError, match=r"at most 4,294,967,295 images \(got 4,294,967,296\)"):
        PartialFrequencies.from_arrow(many) + counted(B)


@pytest.mark.parametrize("waiting", [2**20, 12, 1])
def test_many_parts_are_put_together_on_the_way(monkeypatch: pytest.MonkeyPatch, waiting: int) -> None:
    monkeypatch.setattr("capeval.distributed.partial_frequencies._WAITING", waiting)
    monkeypatch.setattr("capeval.distributed.partial_frequencies._PENDING", 8)
    images = {image: [f"a dog {image % 7} runs {image}", "the dog"] for image in range(60)}
    total: Any = 0
    for image, group in images.items():
        total = total + counted({image: group})
        assert len(total._counted) < 12
        assert total._words < waiting
    assert len(total._waiting) == (60 if waiting == 2**20 else 0)
    more = total + counted({60: ["a dog runs", "a cat"]})
    assert total.finish().digest == DocumentFrequencies.of(images, tokenizer=TOKENS).digest
    # The sum does not share state with its parts, which remain usable.
    images[60] = ["a dog runs", "a cat"]
    assert more.finish().digest == DocumentFrequencies.of(images, tokenizer=TOKENS).digest


def test_sums_keep_no_captions() -> None:
    def alive() -> int:
        gc.collect()
        # By type: a lazy object that something else left here answers `isinstance` by being made.
        return sum(issubclass(type(each), References) for each in gc.get_objects())

    # What is made once for all of the process is there after the first.
    Sums.of(report())
    before = alive()
    sums = Sums.of(report())
    assert alive() == before
    assert sums.images == 2


def test_sums_are_small_and_say_what_they_are_of() -> None:
    sums = Sums.of(report(A)) + Sums.of(report(B))
    whole = report(A | B)
    assert sums.signatures == whole.signatures
    assert sums.signatures["BLEU"].references == "1-3"
    assert sums.corpus == pytest.approx(dict(whole.corpus), rel=1e-12)
    assert repr(sums) == "<Sums: 3 images, BLEU-1, BLEU-2, BLEU-3, BLEU-4, ROUGE-L, CIDEr-D>"
    assert len(pickle.dumps(sums)) < 4_000
    table = sums.to_arrow()
    assert table.num_rows == 1
    assert all(name.isidentifier() for name in table.column_names)
    assert Sums.from_arrow(table.to_pandas()).signatures == whole.signatures


def test_the_domains_of_a_report_are_summed_as_it_scores_them() -> None:
    whole = evaluate(A | B, CANDIDATES, METRICS_GIVEN, tokenizer=TOKENS, subsets={"a": list(A)})
    assert Sums.of(report(A)).corpus == whole.subsets["a"]


@pytest.mark.parametrize(
    ("metrics", "tokenizer", "message"),
    [
        (
            [Bleu(), RougeL()],
            TOKENS,
            r"the same metrics \(got 'BLEU', 'ROUGE-L', 'CIDEr-D', and 'BLEU', 'ROUGE-L'\)",
        ),
        ([Bleu(), RougeL(beta=2.0), METRICS_GIVEN[2]], TOKENS, r"sums of ROUGE-L.*beta=1\.2.*beta=2\|"),
        (METRICS_GIVEN, Tokenizer(), r"sums of BLEU.*tokenizer=none.*tokenizer=ptb-3\.4\.1-lower"),
        (
            [
                *METRICS_GIVEN[:2],
                CiderD(frequencies=DocumentFrequencies.of(A, tokenizer=TOKENS, name="half")),
            ],
            TOKENS,
            r"sums of CIDEr-D.*df=corpus:.*df=half:",
        ),
    ],
)
def test_sums_that_are_not_alike_do_not_add(metrics: Any, tokenizer: Tokenizer, message: str) -> None:
    one, other = Sums.of(report(A)), Sums.of(report(B, metrics, tokenizer))
    with pytest.raises(MismatchError, match=message):
        one + other
    rows = pa.concat_tables([one.to_arrow(), other.to_arrow()])
    with pytest.raises(MismatchError, match=message):
        Sums.from_arrow(rows)


def test_sums_by_frequencies_of_each_part_do_not_add() -> None:
    one, other = (Sums.of(report(part, ["CIDEr-D"])) for part in (A, A | B))
    assert one.corpus.keys() == {"CIDEr-D"}
    with pytest.raises(
        MismatchError, match=r"got the frequencies of each part's references.*PartialFrequencies"
    ):
        one + other
    with pytest.raises(TypeError):
        one + "CIDEr-D"


def _without(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type))


WRONG_SUMS: list[tuple[Callable[[pa.Table], object], str]] = [
    (lambda table: table.slice(1), r"must have at least one row \(got none\)"),
    (lambda table: table.drop_columns(["sums"]), r"must have the columns .* \(got 'images', "),
    (lambda table: _without(table, "images", [None]), r"row 0 must have a value in 'images'"),
    (lambda table: _without(table, "sums", [[1.0]]), r"row 0 must have \d+ 'sums' \(got 1\)"),
    (lambda table: _without(table, "scored", ["{"]), r"cannot read the metrics of row 0"),
    (
        lambda table: _without(table, "scored", ['[{"metric": "os", "options": {}}]']),
        r"row 0 .*unknown metric 'os'",
    ),
]


@pytest.mark.parametrize(("changed", "message"), WRONG_SUMS)
def test_wrong_sums_are_refused(changed: Callable[[pa.Table], object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Sums.from_arrow(changed(Sums.of(report()).to_arrow()))


class Own(RougeL):
    """A metric that is not registered."""


def test_metrics_of_sums_in_arrow_are_registered() -> None:
    with pytest.raises(OptionError, match=r"must be registered \(got Own\)"):
        Sums.of(report(metrics=[Own()])).to_arrow()


def test_a_table_of_statistics_has_plain_names_and_types() -> None:
    table = build_statistics_table(report(A))
    names = ["image_id", "bleu", "rouge_l", "cider_d", "references", "digest", "settings"]
    assert table.column_names == names
    doubles, numbers = pa.list_(pa.float64()), pa.int64()
    assert [field.type for field in table.schema] == [numbers, doubles, doubles, doubles, *[numbers] * 3]
    assert table["references"].to_pylist() == [2, 1]


def test_statistics_of_a_pickled_report() -> None:
    assert build_statistics_table(pickle.loads(pickle.dumps(report()))).equals(
        build_statistics_table(report())
    )


def test_every_metric_has_a_column_of_its_own() -> None:
    made = [make() for make in METRICS.values()]
    keys = {list_metric_keys([metric])[0] for metric in made}
    assert len({column_names([metric])[0] for metric in made}) == len(keys) > 10


def test_a_report_of_some_rows_is_that_of_their_images() -> None:
    rows = pa.concat_tables([build_statistics_table(report(A)), build_statistics_table(report(B))])
    found = build_report(rows.filter(pa.compute.equal(rows["image_id"], 3)), METRICS_GIVEN, tokenizer=TOKENS)
    expected = report(B)
    assert found.corpus == expected.corpus
    assert found.signatures == expected.signatures
    for given in (rows.to_pandas(), rows.to_batches()[0]):
        assert build_report(given, METRICS_GIVEN, tokenizer=TOKENS).image_ids[0] == 1


WRONG_ROWS: list[tuple[Callable[[pa.Table], object], type[CapevalError], str]] = [
    (lambda table: table.slice(2), FormatError, r"must have at least one row \(got none\)"),
    (lambda table: table.drop_columns(["bleu"]), FormatError, r"must have the columns .* \(got 'image_id', "),
    (
        lambda table: _without(table, "rouge_l", [[1.0, 1.0], None]),
        FormatError,
        r"row 1 must have a value in 'rouge_l'",
    ),
    (
        lambda table: _without(table, "rouge_l", [[1.0, 1.0], [1.0]]),
        FormatError,
        r"row 1 must have 2 'rouge_l'",
    ),
    (
        lambda table: _without(table, "rouge_l", [[1.0, None], [1.0, 1.0]]),
        FormatError,
        r"numbers \(got null\)",
    ),
    (
        lambda table: _without(table, "image_id", [1, 1]),
        MismatchError,
        r"duplicate image 1 in row 1 \(first seen in row 0\)",
    ),
    (lambda table: _without(table, "settings", [3, 3]), MismatchError, r"got different ones in row 0"),
]


@pytest.mark.parametrize(("changed", "error", "message"), WRONG_ROWS)
def test_wrong_rows_are_refused(
    changed: Callable[[pa.Table], object], error: type[CapevalError], message: str
) -> None:
    with pytest.raises(error, match=message):
        build_report(changed(build_statistics_table(report())), METRICS_GIVEN, tokenizer=TOKENS)


def test_rows_of_other_settings_are_refused() -> None:
    rows = build_statistics_table(report())
    others: list[tuple[list[Metric], Tokenizer]] = [
        ([Bleu(), RougeL(beta=2.0), METRICS_GIVEN[2]], TOKENS),
        ([Bleu(), RougeL(), CiderD(frequencies="uniform")], TOKENS),
        ([Bleu(), RougeL(), CiderD()], TOKENS),
        (METRICS_GIVEN, Tokenizer(context="caption")),
    ]
    for metrics, tokenizer in others:
        with pytest.raises(
            MismatchError, match=r"a table of statistics must have the settings BLEU\|orders=1,2,3,4"
        ):
            build_report(rows, metrics, tokenizer=tokenizer)


def test_rows_by_frequencies_of_their_own_references_are_of_all_images_or_none() -> None:
    rows = build_statistics_table(report(A | B, ["CIDEr-D"]))
    assert build_report(rows, ["CIDEr-D"], tokenizer=TOKENS).corpus == report(A | B, ["CIDEr-D"]).corpus
    with pytest.raises(MismatchError, match=r"got different ones in row 0"):
        build_report(rows.slice(1), ["CIDEr-D"], tokenizer=TOKENS)
    assert resolve(["CIDEr-D"])[0].frequency_unit == "words"


def test_without_pyarrow_tables_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made, frame = report(), pd.DataFrame()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    calls: list[Callable[[], object]] = [
        counted().to_arrow,
        lambda: PartialFrequencies.from_arrow(frame),
        Sums.of(made).to_arrow,
        lambda: build_statistics_table(made),
    ]
    for call in calls:
        with pytest.raises(DependencyError, match=r"install pyarrow: pip install pyarrow"):
            call()


@NEEDS_MODEL
def test_spice_s_model_is_named_by_its_file(tmp_path: Path) -> None:
    found = find_model()
    assert found is not None
    references, candidates = {1: ["a red dog runs"]}, {1: "a dog"}
    for make in (Spice, Spider):
        given = pickle.loads(pickle.dumps(make(model=found.path)))
        expected = make().prepare(references).score(candidates)
        assert given.prepare(references).score(candidates).corpus == expected.corpus
        assert given.prepare(references).signature() == expected.signature
        with pytest.raises(
            ResourceError, match=r"SPICE's model in .*none.tables \(.*\); build it with `capeval"
        ):
            make(model=tmp_path / "none.tables").prepare(references)
        with pytest.raises(OptionError, match=r"'model' must be a Path, or None \(got 3\)"):
            make(model=3)  # type: ignore[arg-type]


def test_threads_are_set_and_checked() -> None:
    with pytest.raises(OptionError, match=r"'count' must be .* \(got 0\)"):
        set_threads(0)
    usual = _native.threads()
    set_threads(2)
    assert _native.threads() == 2
    set_threads(None)
    assert _native.threads() == usual
