"""`capeval study consensus`, `ranking` and `gaming`: tables, files, resumption, wrong input."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy.io import savemat

from capeval.cli.app import app
from capeval.errors import CapevalError, FormatError, MismatchError, OptionError, ResourceError
from capeval.metrics import meteor
from tests.capeval.cli.pascal_files import write_pascal

RUN = CliRunner()
REFERENCES = {
    "x": ["a dog runs on the grass", "a dog runs", "the dog is running in grass"],
    "y": ["two cats sleep on a bed", "cats sleep", "a cat sleeps on the bed"],
}


def study(*arguments: object) -> str:
    result = RUN.invoke(app, ["study", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.fixture
def abstract(tmp_path: Path) -> Path:
    pairs = [
        ("x", "a dog", "the dog runs in grass"),
        ("x", "two cats", "a dog"),
        ("y", "the cats sleep", "a bed"),
        ("y", "a bed", "grass"),
    ]
    rows = [
        {"A": REFERENCES[image][n % 3], "B": second, "C": first, "rating": 1 if n % 3 else -1}
        for image, first, second in pairs
        for n in range(48)
    ]
    savemat(tmp_path / "consensus_abstract.mat", {"triplets": rows})
    for side, place in (("B", 1), ("C", 2)):
        content = [{"image_id": pair[0], "caption": pair[place]} for pair in pairs]
        (tmp_path / f"abstract_cands{side}.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


@pytest.fixture
def pascal(tmp_path: Path) -> Path:
    return write_pascal(tmp_path)


def test_abstract_is_judged_and_goes_on_after_a_stop(abstract: Path) -> None:
    out = abstract / "out"
    checkpoint = abstract / "kept.json"
    command = ("consensus", abstract, "--counts", "1,3", "--draws", 2, "-o", out, "--checkpoint", checkpoint)
    first = study(*command)
    assert "Human performance" in first
    assert "CIDEr-2015 (paper)" in first
    assert "ties by people" in first
    with (out / "accuracy-by-references.csv").open(encoding="utf-8") as file:
        curves = list(csv.DictReader(file))
    assert [(row["Class"], row["References"]) for row in curves] == [
        (kind, count) for kind in ("HC", "HI", "all") for count in ("1", "3")
    ]
    assert all(
        float(row["CIDEr-2015 low"]) <= float(row["CIDEr-2015"]) <= float(row["CIDEr-2015 high"])
        for row in curves
    )
    made = {path.name for path in out.iterdir()}
    assert {"accuracy.csv", "human-performance.csv", "accuracy-by-references.png"} <= made
    kept = json.loads(checkpoint.read_text(encoding="utf-8"))
    assert set(kept["parts"]) == {
        "halves 0",
        "halves 1",
        *(f"accuracy {n} {d}" for n in (1, 3) for d in (0, 1)),
    }
    # A stored part is used unchanged; a missing one is computed again.
    kept["parts"]["accuracy 1 0"]["CIDEr-2015"]["HC"]["value"] = 1.0
    kept["parts"]["accuracy 1 1"]["CIDEr-2015"]["HC"]["value"] = 0.5
    del kept["parts"]["accuracy 3 1"]
    checkpoint.write_text(json.dumps(kept), encoding="utf-8")
    study(*command)
    with (out / "lowest-and-highest-draw.csv").open(encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert (row["Class"], row["References"]) == ("HC", "1")
    assert [float(row[key]) for key in ("CIDEr-2015", "CIDEr-2015 low", "CIDEr-2015 high")] == [
        75.0,
        50.0,
        100.0,
    ]
    # Parts with a different seed are rejected.
    with pytest.raises(FormatError, match="belongs to other data, metrics, options, seed or version"):
        study(*command, "--seed", 1)


def test_pascal_shows_both_kinds_of_judgment(pascal: Path) -> None:
    command = ("consensus", pascal, "--ties", "half", "--words", "default", "-o", pascal / "out")
    shown = study(*command, "--counts", "1,2", "--draws", 1)
    for title in ("Accuracy consensus", "Accuracy pairwise", "Agreement", "Wins", "Accuracy by references"):
        assert title in shown
    assert "ties by people (pairwise)" in shown
    assert "Ties (half): a metric's tie counts as half correct." in shown
    assert "In brackets: 95% Fisher intervals over systems." not in shown
    assert "With fewer than 4 systems (5 for tau and accuracy), coefficients have no intervals." in shown
    assert (pascal / "out" / "wins.svg").exists()


def test_ties_are_named_in_every_table(abstract: Path) -> None:
    out = abstract / "out"
    shown = study("consensus", abstract, "--counts", "1", "--draws", 1, "-o", out)
    assert shown.count("Ties (wrong): a metric's tie counts as incorrect.") == 5
    assert shown.count("Human ties (exclude): pairs without a human winner are excluded.") == 6
    for name in ("accuracy", "human-performance", "accuracy-by-references", "lowest-and-highest-draw"):
        with (out / f"{name}.csv").open(encoding="utf-8") as file:
            row = next(csv.DictReader(file))
        assert (row["Ties"], row["Human ties"]) == ("wrong", "exclude"), name
    accuracies = {}
    for ties in ("wrong", "half", "first", "random"):
        study("consensus", abstract, "--ties", ties, "--human-ties", "half", "--draws", 1, "-o", out)
        with (out / "accuracy.csv").open(encoding="utf-8") as file:
            rows = {row["Metric"]: row for row in csv.DictReader(file)}
        assert (rows["BLEU-1"]["Ties"], rows["BLEU-1"]["Human ties"]) == (ties, "half")
        accuracies[ties] = {
            name: (float(row["all"]), float(row["From ties"])) for name, row in rows.items() if row["all"]
        }
    for values in accuracies.values():
        for name, (value, from_ties) in values.items():
            # Without its ties, a metric has the same accuracy under every rule.
            assert value - from_ties == pytest.approx(accuracies["wrong"][name][0])
    assert {from_ties for _, from_ties in accuracies["wrong"].values()} == {0.0}
    refused = RUN.invoke(app, ["study", "consensus", str(abstract), "--human-ties", "first"])
    assert refused.exit_code == 2
    assert "'exclude', 'half'" in refused.output


def test_ranking_shows_an_image(tmp_path: Path) -> None:
    path = tmp_path / "references.json"
    path.write_text(json.dumps(REFERENCES), encoding="utf-8")
    shown = study("ranking", path, "--image", "y", "--top", 1, "-o", tmp_path / "out")
    assert "CIDEr-2015, CIDEr-D" in shown
    assert "a dog runs" not in shown
    assert (tmp_path / "out" / "cider-and-cider-d.png").exists()


def test_gaming_shows_attacks(tmp_path: Path) -> None:
    path = tmp_path / "references.json"
    path.write_text(json.dumps(REFERENCES), encoding="utf-8")
    shown = study("gaming", "--references", path, "-o", tmp_path / "out")
    assert "8 sure 4-grams" in shown
    assert (tmp_path / "out" / "gaming.svg").exists()
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"x": "a dog", "y": "two cats"}), encoding="utf-8")
    assert "a dog a dog" in study("gaming", "--references", path, "--results", results)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("consensus", "FOLDER"), OptionError, "consensus_abstract.mat or pair_pascal.mat"),
        (("ranking", "FOLDER/references.json", "--image", "q"), MismatchError, "'q' is not among"),
    ],
)
def test_wrong_input_is_named(
    tmp_path: Path, arguments: tuple[str, ...], error: type[CapevalError], message: str
) -> None:
    (tmp_path / "references.json").write_text(json.dumps(REFERENCES), encoding="utf-8")
    with pytest.raises(error, match=message):
        study(*(part.replace("FOLDER", str(tmp_path)) for part in arguments))


def test_wrong_counts_are_named(abstract: Path) -> None:
    refused = RUN.invoke(app, ["study", "consensus", str(abstract), "--counts", "1;2"])
    assert refused.exit_code == 2
    assert "comma-separated integers, such as 1,5,10 (got '1;2')" in refused.output
    with pytest.raises(MismatchError, match="between 1 and 48 \\(got 49\\)"):
        study("consensus", abstract, "--counts", "49", "--draws", 1)


def test_triplets_are_planned(tmp_path: Path) -> None:
    captions, results, twice = (tmp_path / name for name in ("captions.json", "a.json", "twice.jsonl"))
    images = [{"id": image} for image in REFERENCES]
    annotations = [
        {"id": f"{image}{n}", "image_id": image, "caption": text}
        for image, texts in REFERENCES.items()
        for n, text in enumerate(texts)
    ]
    captions.write_text(json.dumps({"images": images, "annotations": annotations}), encoding="utf-8")
    results.write_text(json.dumps([{"image_id": i, "caption": f"a thing {i}"} for i in REFERENCES]))
    out = tmp_path / "plan"
    shown = study("plan", captions, results, "--pairs", "HC=2,HM=2", "-o", out)
    assert [line.split() for line in shown.splitlines()[3:5]] == [
        ["HC", "2", "2", "6"],
        ["HM", "2", "2", "6"],
    ]
    with (out / "pairs.csv").open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file))
    with (out / "triplets.csv").open(encoding="utf-8", newline="") as file:
        triplets = list(csv.DictReader(file))
    assert [pair["class"] for pair in pairs] == ["HC", "HC", "HM", "HM"]
    assert {pair["first_by"] for pair in pairs} | {pair["second_by"] for pair in pairs} == {"human", "a"}
    for triplet in triplets:
        pair = pairs[int(triplet["pair"])]
        assert triplet["left"] == pair[triplet["on_the_left"]]
        assert triplet["reference"] in REFERENCES[pair["image_id"]]
        assert triplet["reference"] not in (triplet["left"], triplet["right"])
    for wrong, message in (
        ("HC", "must be CLASS=N"),
        ("HC=1,HC=2", "with each class once"),
        ("XY=1", "HC, HI"),
    ):
        with pytest.raises(OptionError, match=message):
            study("plan", captions, "--pairs", wrong)
    with pytest.raises(MismatchError, match="image 'x' must have at least 4 captions"):
        study("plan", captions, "--held-out", 3)
    twice.write_text('{"image_id": "x", "caption": "a"}\n{"image_id": "x", "caption": "b"}\n')
    with pytest.raises(FormatError, match="duplicate image id"):
        study("plan", captions, twice, "--pairs", "HM=1")


def test_answers_make_winners(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "pair,image_id,class,first,second,first_by,second_by\n"
        "0,x,HC,a dog,the dog,human,human\n1,y,HM,cats,a cat,human,a\n"
    )
    plan = tmp_path / "triplets.csv"
    header = "triplet,pair,reference,left,right,on_the_left,judgments\n"
    plan.write_text(
        f"{header}0,0,dogs,a dog,the dog,first,3\n1,1,two cats,a cat,cats,second,3\n"
        "2,0,my dog,the dog,a dog,second,3\n"
    )
    votes = tmp_path / "votes.csv"
    votes.write_text("choice,triplet\nleft,0\nleft,0\nright,0\nleft,1\nright,2\nleft,2\n")
    study("votes", tmp_path, votes, "-o", tmp_path / "out")
    with (tmp_path / "out" / "winners.csv").open(encoding="utf-8", newline="") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert rows == [
        ("0", "HC", "human", "human", "1", "0", "first"),
        ("1", "HM", "human", "a", "0", "1", "second"),
    ]
    with (tmp_path / "out" / "agreement.csv").open(encoding="utf-8", newline="") as file:
        agreement = {row["Class"]: row for row in csv.DictReader(file)}
    assert agreement["all"]["Tied triplets"] == "1"
    assert (agreement["HC"]["Answers"], agreement["HM"]["Alpha (nominal)"]) == ("5", "")
    for text, message in (
        (
            "triplet,choice\n0,left\n1,left\n",
            "every triplet must have an answer .got none for triplet 2.; 'complete_only'",
        ),
        ("triplet,choice\n", "every triplet must have an answer .got none for triplets 0, 1, 2."),
        ("triplet,choice\n3,left\n", "line 2: 'triplet' must be the number of a triplet .* .got '3'"),
        ("triplet,choice\n0,both\n", "line 2: the choice must be left or right .got 'both'"),
        ("triplet\n0\n", "must contain the column 'choice'"),
    ):
        votes.write_text(text)
        with pytest.raises(CapevalError, match=message):
            study("votes", tmp_path, votes)
    plan.write_text(f"{header}0,2,dogs,a dog,the dog,first,3\n")
    with pytest.raises(FormatError, match=r"triplets\.csv: line 2: 'pair' must be the number of a pair"):
        study("votes", tmp_path, votes)


def test_incomplete_triplets_are_named_and_left_out(tmp_path: Path) -> None:
    write_own_plan(tmp_path)
    votes = tmp_path / "votes.csv"
    # Triplet 0 has all three answers, 1 and 2 have fewer, so that pair 1 has no complete one.
    votes.write_text("triplet,choice\n0,left\n0,left\n0,right\n1,left\n2,left\n2,right\n")
    shown = study("votes", tmp_path, votes)
    assert "Incomplete" in shown
    assert [line.split() for line in shown.splitlines() if line.split()[:2] in (["1", "1"], ["2", "0"])] == [
        ["1", "1", "1", "3"],
        ["2", "0", "2", "3"],
    ]
    out = tmp_path / "out"
    study("votes", tmp_path, votes, "--complete-only", "-o", out)
    assert rows_of(out / "winners.csv") == [("0", "HC", "human", "human", "1", "0", "first")]
    assert [row[:1] for row in rows_of(out / "all-incomplete.csv")] == [("1",), ("2",)]
    # A third answer could not change the majority of triplet 2.
    votes.write_text("triplet,choice\n0,left\n0,left\n0,right\n1,left\n2,left\n2,left\n")
    study("votes", tmp_path, votes, "--complete-only", "-o", tmp_path / "decided")
    assert [row[:1] for row in rows_of(tmp_path / "decided" / "all-incomplete.csv")] == [("1",)]
    votes.write_text("triplet,choice\n0,left\n")
    with pytest.raises(MismatchError, match="at least one triplet must have all of its answers"):
        study("votes", tmp_path, votes, "--complete-only")


def test_pairwise_votes_make_winners(tmp_path: Path) -> None:
    write_own_plan(tmp_path)
    votes = tmp_path / "pair_votes.csv"
    votes.write_text(
        "pair,choice,worker\n0,first,a\n0,equal,b\n0,second,c\n0,first,d\n1,second,a\n1,second,b\n"
    )
    out = tmp_path / "out"
    study("votes", tmp_path, votes, "--pairwise", "-o", out)
    assert rows_of(out / "winners.csv") == [
        ("0", "HC", "human", "human", "2", "1", "first"),
        ("1", "HM", "human", "a", "0", "2", "second"),
    ]
    # The questions are the pairs, so the table has no triplets.
    header, *rows = (out / "agreement.csv").read_text(encoding="utf-8").splitlines()
    alpha = '"Alpha (nominal)","Alpha (nominal) low","Alpha (nominal) high"'
    assert header == f'"Class","Pairs","Tied pairs","Answers",{alpha}'
    assert [row.split(",")[:4] for row in rows] == [
        ['"HC"', "1", "0", "4"],
        ['"HM"', "1", "0", "2"],
        ['"all"', "2", "0", "6"],
    ]
    # Two of three votes for the second decide pair 1; pair 0 of five is open, and is named or left out.
    assert "Incomplete" in study("votes", tmp_path, votes, "--pairwise", "--judgments", 5)
    study("votes", tmp_path, votes, "--pairwise", "--judgments", 3, "--complete-only", "-o", out)
    assert [row[0] for row in rows_of(out / "winners.csv")] == ["0", "1"]
    study("votes", tmp_path, votes, "--pairwise", "--judgments", 4, "--complete-only", "-o", out)
    assert [row[0] for row in rows_of(out / "winners.csv")] == ["0"]
    for text, message in (
        ("pair,choice\n0,first\n", "every pair must have an answer .got none for pair 1."),
        ("pair,choice\n2,first\n", "line 2: 'pair' must be the number of a pair in the plan .got '2'"),
        ("pair,choice\n0,left\n", "line 2: 'choice' must be first, second or equal .got 'left'"),
        ("triplet,choice\n0,left\n", "must contain the column 'pair'"),
    ):
        votes.write_text(text)
        with pytest.raises(CapevalError, match=message):
            study("votes", tmp_path, votes, "--pairwise")
    with pytest.raises(OptionError, match="'--judgments' requires '--pairwise'"):
        study("votes", tmp_path, votes, "--judgments", 3)


def test_one_s_own_votes_are_studied(tmp_path: Path) -> None:
    write_own_plan(tmp_path)
    votes, pair_votes, captions = (tmp_path / name for name in ("votes.csv", "pairs_of.csv", "captions.json"))
    votes.write_text("triplet,choice\n0,left\n1,left\n2,left\n")
    pair_votes.write_text("pair,choice\n0,first\n1,first\n")
    # The captions that pair 0 compares are no references of image x.
    write_captions(captions, {"x": ["a dog", "the dog", "dogs run"], "y": ["two cats"]})
    with pytest.raises(MismatchError, match=r"cannot split fewer than two into halves \(got 1\)"):
        study("consensus", tmp_path, "--votes", votes)
    shown = study("consensus", tmp_path, "--pair-votes", pair_votes, "--references", captions)
    assert "Accuracy" in shown
    assert "Human performance" not in shown
    write_captions(captions, {"x": ["a dog", "the dog"], "y": ["two cats"]})
    for arguments, message in (
        (("--pair-votes", pair_votes, "--references", captions), "image 'x' is without a reference"),
        (("--pair-votes", pair_votes), "'--pair-votes' requires '--references' or '--votes'"),
        (("--references", captions), "'--references' and '--complete-only' require"),
        ((), "add '--votes' or '--pair-votes'"),
    ):
        with pytest.raises(CapevalError, match=message):
            study("consensus", tmp_path, *arguments)


def write_own_plan(folder: Path) -> None:
    (folder / "pairs.csv").write_text(
        "pair,image_id,class,first,second,first_by,second_by\n"
        "0,x,HC,a dog,the dog,human,human\n1,y,HM,cats,a cat,human,a\n"
    )
    (folder / "triplets.csv").write_text(
        "triplet,pair,reference,left,right,on_the_left,judgments\n"
        "0,0,dogs,a dog,the dog,first,3\n1,1,two cats,a cat,cats,second,3\n"
        "2,0,my dog,the dog,a dog,second,3\n"
    )


def write_captions(path: Path, captions: Mapping[str, list[str]]) -> None:
    annotations = [
        {"id": f"{image}{n}", "image_id": image, "caption": text}
        for image, texts in captions.items()
        for n, text in enumerate(texts)
    ]
    content = {"images": [{"id": image} for image in captions], "annotations": annotations}
    path.write_text(json.dumps(content), encoding="utf-8")


def rows_of(path: Path) -> list[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", ["gaming", "consensus"])
def test_missing_word_tables_are_named_before_anything_is_scored(
    abstract: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def missing(_: object) -> None:
        raise ResourceError("the word tables are missing: pip install them")

    monkeypatch.setattr(meteor, "ensure_tables", lambda progress: missing(progress))
    path = abstract / "references.json"
    path.write_text(json.dumps(REFERENCES), encoding="utf-8")
    arguments = ["--references", path] if name == "gaming" else [abstract]
    # Neither command has --metrics, so the message does not advise it.
    with pytest.raises(ResourceError, match=r"^the word tables are missing: pip install them$"):
        study(name, *arguments)
