"""`capeval study metric`: a new metric on benchmarks of human judgments."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from capeval.cli.app import app
from capeval.data.captions import References
from capeval.data.scores import FloatArray
from capeval.datasets.foil import load_foil
from capeval.datasets.rated_tables import load_rated_captions
from capeval.datasets.thumb import load_thumb
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.formats.judgments.plans import Pair
from capeval.metrics.given_scores import load_given_scores
from capeval.metrics.rouge import RougeL
from capeval.studies.metric import (
    CaptionItem,
    CaptionJudgments,
    HumanBenchmark,
    MetricOptions,
    PairJudgments,
    evaluate_metric,
    list_descriptions,
    load_benchmark,
)
from capeval.studies.metric.draws import count_draws
from capeval.studies.metric.report import report, to_judged_pairs
from capeval.studies.metric.scoring import score_judged
from capeval.studies.shared.coefficients import coefficients
from capeval.studies.shared.ties import Ties
from tests.capeval.cli.test_cli import refusal

PLUGIN = """
from dataclasses import dataclass
import numpy as np
from capeval.metrics import MeanMetric

@dataclass(frozen=True, kw_only=True)
class Overlap(MeanMetric):
    family = "Overlap"
    def kernel(self, references):
        known = [{*" ".join(references.texts(image)).split()} for image in references.references]
        return lambda captions: np.array([
            (len({*text.split()} & known[place]), 1.0)
            for text, place in zip(captions.texts(), captions.positions)
        ])
"""
CAPTIONS = (
    "A dog runs .",
    "Two cats sleep .",
    "A red bus .",
    "A man on a horse .",
    "Men eat .",
    "A hat .",
    "Two birds .",
)
# Image, caption, and its ratings: a caption of the image itself would be left out, so all are of others.
RATED = [
    (image, other, (1 + (image + other) % 4, 1 + (image + 2 * other) % 4, 1 + (image + other) % 3))
    for image in range(len(CAPTIONS))
    for other in range(len(CAPTIONS))
    if image != other
]


@pytest.fixture
def flickr8k(tmp_path: Path) -> Path:
    folder = tmp_path / "flickr8k"
    folder.mkdir()
    lines = [
        f"{n}.jpg#{k}\t{text}"
        for n, text in enumerate(CAPTIONS)
        for k, text in enumerate((text, f"{text} x"))
    ]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines), encoding="utf-8")
    rows = [f"{image}.jpg\t{other}.jpg#0\t" + "\t".join(map(str, rated)) for image, other, rated in RATED]
    (folder / "ExpertAnnotations.txt").write_text("\n".join(rows), encoding="utf-8")
    return folder


def study(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["study", "metric", *map(str, arguments)], prog_name="capeval")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_of_scores_from_the_command_line(flickr8k: Path, tmp_path: Path) -> None:
    scores = tmp_path / "clip.csv"
    with scores.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("image_id", "caption", "CLIP"), *((f"{i}.jpg", CAPTIONS[o], sum(r)) for i, o, r in RATED)]
        )
    done = study(scores, f"flickr8k-expert={flickr8k}", "-m", "BLEU-1,ROUGE-L", "-o", tmp_path / "out")
    assert (done.exception, done.exit_code) == (None, 0)
    rows = {(row["Metric"], row["Source"]): row for row in read(tmp_path / "out" / "agreement.csv")}
    sums = np.repeat([float(sum(rated)) for _, _, rated in RATED], 3)
    each = np.array([float(value) for _, _, rated in RATED for value in rated])
    wanted = 100 * coefficients(sums, each)["tau-b"]
    assert float(rows["CLIP", "evaluated"]["Flickr8k-Expert tau-b"]) == pytest.approx(wanted, abs=1e-9)
    assert {("BLEU-1", "capeval"), ("PAC-S", "Sarto et al. 2023"), ("People", "ceiling")} <= set(rows)
    [first, *_] = read(tmp_path / "out" / "paired-tests.csv")
    assert (first["A"], first["B"]) == ("CLIP", "BLEU-1")
    assert "each of the three ratings of a caption is an observation" in done.output
    latex = (tmp_path / "out" / "agreement.tex").read_text(encoding="utf-8")
    assert latex.startswith("% \\usepackage{booktabs}\n\\begin{tabular}")
    assert len(read(tmp_path / "out" / "flickr8k-expert-captions.csv")) == len(RATED)
    page = (tmp_path / "out" / "flickr8k-expert-disagreements.html").read_text(encoding="utf-8")
    assert "Preferred by people" in page


def test_a_plug_in_of_ten_lines_from_the_command_line(
    flickr8k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "overlap_metric.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = study("overlap_metric:Overlap", f"flickr8k-expert={flickr8k}", "-m", "ROUGE-L", "--samples", 50)
    assert (done.exception, done.exit_code) == (None, 0)
    assert "Overlap" in done.output
    assert "evaluated" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("BLEU-1", "flickr9k=x"), "BENCHMARK=FOLDER, with each benchmark once from flickr8k-expert"),
        (("BLEU-1", "flickr8k-expert"), "got 'flickr8k-expert'"),
        (("BLEU-1", "thumb=no-such-folder"), "must contain mscoco_THumB-1.0.jsonl"),
        (("BLUE", "thumb=x"), "unknown metric 'BLUE'; did you mean"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], message: str) -> None:
    assert message in " ".join(refusal("study", "metric", *arguments).split())


def rated(ratings: FloatArray, *, votes: FloatArray | None = None, raters: str = "each") -> HumanBenchmark:
    count = len(ratings)
    about = list_descriptions()["flickr8k-expert" if raters == "each" else "flickr8k-cf"]
    judged = CaptionJudgments(
        image_ids=tuple(range(count)),
        captions=tuple("a " * (1 + row) for row in range(count)),
        references=(("a",),) * count,
        ratings={"": ratings},
        votes=votes,
    )
    return HumanBenchmark(about=about, judged=judged)


def test_a_function_gets_images_captions_and_references() -> None:
    seen: list[CaptionItem] = []

    def count(items: list[CaptionItem]) -> list[int]:
        seen.extend(items)
        return [len(item.caption.split()) for item in items]

    found = evaluate_metric(
        count, rated(np.arange(8.0)[:, None]), MetricOptions(samples=20), compared=["BLEU-1"]
    )
    assert found.values["count"]["tau-b"].score == pytest.approx(1)
    assert seen[1] == CaptionItem(image_id=1, caption="a a ", references=("a",))


def test_a_function_with_a_wrong_number_of_scores() -> None:
    with pytest.raises(OptionError, match="must return one score for each of 8 captions"):
        evaluate_metric(lambda _: [1.0], rated(np.arange(8.0)[:, None]))
    with pytest.raises(OptionError, match="'metric' must be a name, a file of scores"):
        evaluate_metric(3, rated(np.arange(8.0)[:, None]))  # type: ignore[arg-type]


def test_lower_scores_can_be_better(tmp_path: Path) -> None:
    file = tmp_path / "errors.csv"
    file.write_text("image_id,errors\n" + "".join(f"{n},{-n}\n" for n in range(8)), encoding="utf-8")
    options = MetricOptions(samples=20)
    benchmark = rated(np.arange(8.0)[:, None])
    values = [
        evaluate_metric(each, benchmark, options, compared=["BLEU-1"]).values["errors"]["tau-c"].score
        for each in (load_given_scores(file, lower=True), str(file))
    ]
    assert values == pytest.approx([1, -1])


def test_people_are_compared_with_each_other() -> None:
    votes = np.array([[1, 1, 2], [2, 2, np.nan], [3, 3, 4], [1, np.nan, np.nan]])
    found = evaluate_metric(
        "BLEU-1", rated(votes, votes=votes), MetricOptions(samples=20), compared=["ROUGE-L"]
    )
    # Ordered pairs of ratings of one caption.
    a = np.array([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4], dtype=float)
    b = np.array([1, 2, 1, 2, 1, 1, 2, 2, 3, 4, 3, 4, 3, 3], dtype=float)
    assert found.people["tau-b"].score == pytest.approx(coefficients(a, b)["tau-b"])
    shares = np.nanmean(votes, axis=1, keepdims=True)
    of_means = evaluate_metric(
        "BLEU-1", rated(shares, votes=votes, raters="mean"), MetricOptions(samples=20), compared=["ROUGE-L"]
    )
    a, b = (np.array(each) for each in ([1, 1, 2, 2, 2, 3, 3, 4.0], [1.5, 1.5, 1, 2, 2, 3.5, 3.5, 3]))
    assert of_means.people["tau-b"].score == pytest.approx(coefficients(a, b)["tau-b"])


def pairs(count: int = 6, references: int = 3) -> PairJudgments:
    texts = tuple(f"a dog runs on grass {n}" for n in range(references))
    made = tuple(
        Pair(
            image=n // 2,
            first="a dog runs",
            second="a cat",
            kind=("HC", "HI")[n % 2],
            references=texts,
            votes=(1 if n else -1,),
        )
        for n in range(count)
    )
    return PairJudgments(pairs=made)


def benchmark_of_pairs(judged: PairJudgments) -> HumanBenchmark:
    return HumanBenchmark(about=list_descriptions()["abstract-50s"], judged=judged)


def test_accuracies_by_class_with_the_mean() -> None:
    benchmark = benchmark_of_pairs(pairs())
    found = evaluate_metric("ROUGE-L", benchmark, MetricOptions(samples=20), compared=["BLEU-1"])
    scores = {name: round(each.score, 3) for name, each in found.values["ROUGE-L"].items()}
    assert scores == {"HC": 0.667, "HI": 1.0, "Mean": 0.833}
    assert found.people == {}
    assert (found.items, found.images, found.draws) == (6, 3, 1)
    made = report([found])
    assert "people's agreement is unknown" in made.tables["agreement"].notes[1]
    assert made.tables["agreement"].notes[-1] == "Bold: the best of the evaluated metrics."
    assert len(made.long_tables["abstract-50s-pairs"]().rows) == 6


def test_ties_follow_the_rule() -> None:
    def constant(items: list[CaptionItem]) -> list[float]:
        return [1.0] * len(items)

    cases: list[tuple[Ties, float]] = [("wrong", 0.0), ("half", 0.5), ("first", 5 / 6)]
    for ties, wanted in cases:
        options = MetricOptions(samples=20, ties=ties)
        found = evaluate_metric(constant, benchmark_of_pairs(pairs()), options, compared=["ROUGE-L"])
        assert found.values["constant"]["Mean"].score == pytest.approx(wanted)


@pytest.mark.parametrize(("references", "drawn", "draws"), [(3, None, 1), (9, 2, 4)])
def test_progress_has_one_step_per_draw(references: int, drawn: int | None, draws: int) -> None:
    benchmark = benchmark_of_pairs(pairs(references=references))
    wanted = MetricOptions(samples=20, draws=4, references=drawn)
    steps: list[str] = []
    evaluate_metric("ROUGE-L", benchmark, wanted, compared=["BLEU-1"], progress=steps.append)
    assert len(steps) - 1 == count_draws(benchmark, wanted) == draws
    assert (steps[-1], count_draws(rated(np.ones((8, 1))), wanted)) == ("Resampling", 1)


def test_references_are_drawn_once_per_image() -> None:
    seen: list[list[CaptionItem]] = []

    def record(items: list[CaptionItem]) -> list[float]:
        seen.append(list(items))
        return [float(len(item.caption)) for item in items]

    options = MetricOptions(samples=20, references=2, draws=3)
    found = evaluate_metric(record, benchmark_of_pairs(pairs(references=9)), options, compared=["BLEU-1"])
    assert (found.draws, len(seen)) == (3, 3)
    for items in seen:
        assert {len(item.references) for item in items} == {2}
        assert len({(item.image_id, item.references) for item in items}) == 3
    assert len({items[0].references for items in seen}) > 1
    with pytest.raises(MismatchError, match="at most 3, as some pairs have no more"):
        evaluate_metric(record, benchmark_of_pairs(pairs()), MetricOptions(references=4))


def test_captions_of_an_image_may_have_different_references() -> None:
    references = (("a dog runs",), ("a cat sleeps",), ("a dog runs",))
    scores = score_judged((1, 1, 1), ("a dog", "a dog", "a cat"), references, [RougeL()], "ratings")
    alone = [
        score_judged((1,), (text,), (texts,), [RougeL()], "ratings")["ROUGE-L"][0]
        for text, texts in zip(("a dog", "a dog", "a cat"), references, strict=True)
    ]
    assert scores["ROUGE-L"].tolist() == alone


def test_disagreements_are_the_worst_pairs_of_each_image(flickr8k: Path) -> None:
    found = evaluate_metric(
        "ROUGE-L", load_benchmark("flickr8k-expert", flickr8k), MetricOptions(samples=20), compared=["BLEU-1"]
    )
    judged = to_judged_pairs(found)
    means = {(f"{i}.jpg", CAPTIONS[o]): np.mean(rated) for i, o, rated in RATED}
    assert judged.pairs
    for place, pair in enumerate(judged.pairs):
        assert means[str(pair.image), pair.first] > means[str(pair.image), pair.second]
        assert min(each[place] for each in judged.differences.values()) < 0


def test_equal_scores_are_an_error() -> None:
    def constant(items: list[CaptionItem]) -> list[float]:
        return [1.0] * len(items)

    with pytest.raises(MismatchError, match="constant has no tau-b: all scores or all judgments are equal"):
        evaluate_metric(constant, rated(np.arange(8.0)[:, None]), MetricOptions(samples=20))


def test_thumb_names_the_line_of_an_unknown_image() -> None:
    ratings = dict.fromkeys(("P", "R", "Fl", "Inc", "Con", "human_score"), 1)
    row = json.dumps({"SYS": "a", "seg_id": "7", "hyp": "a dog", **ratings})
    with pytest.raises(FormatError, match="line 1 must have an image with references"):
        load_thumb(row.encode(), b'{"seg_id": "9", "refs": ["A dog runs."]}')
    with pytest.raises(FormatError, match="'hyp'"):
        load_thumb(b'{"SYS": "a", "seg_id": "9"}', b'{"seg_id": "9", "refs": ["A dog runs."]}')


TABLE = "imgid,mt,refs,score\n" + "".join(
    f'{image}.jpg,{text},"[\'a dog runs\', ""the dog\'s run""]",{score}\n'
    for image in range(4)
    for text, score in (("a dog", 0.9 - image / 10), ("a  cat", image / 10))
)
FOIL = {
    "annotations": [
        {"id": 10 * image + n, "image_id": image, "caption": f"a {word} runs {n}", "foil": word == "cat"}
        for image in range(4)
        for n in range(2)
        for word in ("dog", "cat")
    ]
}
COCO = {
    "images": [{"id": image} for image in range(4)],
    "annotations": [
        {"id": 10 * image + n, "image_id": image, "caption": f"a dog runs {n}"}
        for image in range(4)
        for n in range(5)
    ],
}
BATTLE = {"caption1": "a brown dog", "caption2": "a cat", "ref": "a dog", "cluster": "level 1"}
ARENA = [
    {**BATTLE, "img": f"{n}.jpg", "source1": first, "source2": "b", "winner": winner}
    for n in range(4)
    for first, winner in (("a", "a"), ("a", "equal"), ("human", "human"))
]


def write(folder: Path, name: str) -> Path:
    """Write the files of a benchmark as its loaders describe them."""
    contents = {
        "foilv1.0_test_2017.json": json.dumps(FOIL),
        "captions_val2014.json": json.dumps(COCO),
        "caparena_annots_eval.json": json.dumps(ARENA),
    }
    for file in list_descriptions()[name].files:
        (folder / file).write_text(contents.get(file, TABLE), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["composite", "polaris", "nebula"])
def test_tables_of_rated_captions(name: str, tmp_path: Path) -> None:
    benchmark = load_benchmark(name, write(tmp_path, name))
    assert isinstance(benchmark.judged, CaptionJudgments)
    assert benchmark.judged.captions[:2] == ("a dog", "a cat")
    assert benchmark.judged.references[0] == ("a dog runs", "the dog's run")
    found = evaluate_metric("ROUGE-L", benchmark, MetricOptions(samples=20), compared=["BLEU-1"])
    scores, ratings = found.scores["ROUGE-L"], benchmark.judged.ratings[""][:, 0]
    assert found.values["ROUGE-L"]["tau-c"].score == pytest.approx(coefficients(scores, ratings)["tau-c"])
    note = next(
        note for note in report([found]).tables["agreement"].notes if note.startswith(benchmark.about.title)
    )
    assert "8 captions of 4 images; not run on the published file" in note


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1.jpg,a dog,a dog runs,1\n", "line 2 must have a list of strings as refs"),
        ("1.jpg,a dog,['a'],high\n", "line 2 must have a finite number as score"),
        ("", "at least one caption"),
    ],
)
def test_wrong_tables(row: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_rated_captions(("imgid,mt,refs,score\n" + row).encode())


def test_foil_has_the_other_captions_as_references(tmp_path: Path) -> None:
    benchmark = load_benchmark("foil", write(tmp_path, "foil"))
    assert isinstance(benchmark.judged, PairJudgments)
    first = benchmark.judged.pairs[0]
    assert (first.first, first.second) == ("a dog runs 0", "a cat runs 0")
    assert first.references == tuple(f"a dog runs {n}" for n in (1, 2, 3, 4))
    options = MetricOptions(samples=20, references=1, draws=2)
    for each in (MetricOptions(samples=20), options):
        found = evaluate_metric("ROUGE-L", benchmark, each, compared=["BLEU-1"])
        assert found.values["ROUGE-L"]["Accuracy"].score == 1
        assert (found.items, found.images) == (8, 4)
    published = {row[0].value: row[2].value for row in report([found]).tables["agreement"].rows}
    assert (published["CLIPScore"], published["RefCLIPScore"]) == (87.2, 91.0)


def test_foil_needs_original_captions_and_references() -> None:
    wrong = {"annotations": [{"id": 1, "image_id": 1, "caption": "a cat", "foil": True}]}
    with pytest.raises(FormatError, match="must have an entry of the same image with id 1"):
        load_foil(json.dumps(wrong).encode(), References({1: ["a dog"]}))
    wrong["annotations"].append({"id": 1, "image_id": 1, "caption": "a dog", "foil": False})
    with pytest.raises(FormatError, match="must have an image with other captions as references"):
        load_foil(json.dumps(wrong).encode(), References({1: ["a dog"]}))


def test_battles_of_people_are_left_out(tmp_path: Path) -> None:
    benchmark = load_benchmark("caparena", write(tmp_path, "caparena"))
    assert isinstance(benchmark.judged, PairJudgments)
    assert [pair.votes for pair in benchmark.judged.pairs[:2]] == [(1,), (0,)]
    found = evaluate_metric("ROUGE-L", benchmark, MetricOptions(samples=20), compared=["BLEU-1"])
    # Ties of people are excluded.
    assert found.values["ROUGE-L"]["Accuracy"].score == 1
    assert np.isnan(found.credits["ROUGE-L"]).sum() == 4


def test_the_page_has_every_benchmark() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies" / "metric.md").read_text(encoding="utf-8")
    for about in list_descriptions().values():
        row, *_ = [line for line in page.splitlines() if line.startswith(f"| `{about.name}` |")]
        assert all(f"`{file}`" in row for file in about.files)
        assert ("not run on the published file" in row) != about.is_verified
