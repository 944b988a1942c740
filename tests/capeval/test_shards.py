"""Folders of shards, scored by several processes."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from capeval import Bleu, Candidates, Cider2015, CiderD, DocumentFrequencies, References, Tokenizer, evaluate
from capeval.data.columns import Columns, Role
from capeval.distributed.shards import (
    Shard,
    ShardScores,
    ShardScoringOptions,
    ShardTiming,
    list_shards,
    score_shards,
)
from capeval.errors import CaptionError, FormatError, MismatchError
from capeval.metrics import Metric

pa = pytest.importorskip("pyarrow")

ALONE = Tokenizer(context="caption")
WORDS = ["a", "the", "man", "dog", "red", "runs", "sits", "on", "in", "grass", "etc.", "U.S."]
IMAGES = 60


def rows(seed: int = 0) -> list[dict[str, Any]]:
    rng = random.Random(seed)

    def caption() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))

    ids = rng.sample(range(10**6), IMAGES)
    return [
        {"image_id": image, "references": [caption() for _ in range(rng.randint(1, 4))], "caption": caption()}
        for image in ids
    ]


def write(folder: Path, parts: list[list[dict[str, Any]]]) -> list[Shard]:
    from pyarrow import parquet

    for number, part in enumerate(parts):
        parquet.write_table(pa.Table.from_pylist(part), folder / f"part-{number}.parquet")
    return list_shards(folder, folder)


def split(everything: list[dict[str, Any]], *ends: int) -> list[list[dict[str, Any]]]:
    return [everything[start:end] for start, end in zip((0, *ends), (*ends, len(everything)), strict=True)]


def job(
    metrics: tuple[Metric, ...] = (Bleu(), CiderD(), Cider2015()), tokenizer: Tokenizer = ALONE
) -> ShardScoringOptions:
    return ShardScoringOptions(
        metrics=metrics,
        tokenizer=tokenizer,
        references=Columns(role=Role.REFERENCES, caption_column="references"),
        candidates=Columns(role=Role.CANDIDATES, caption_column="caption"),
    )


def check(scored: ShardScores, expected: list[dict[str, Any]]) -> None:
    """Whether the scores are those of one process."""
    references = References({row["image_id"]: row["references"] for row in expected})
    candidates = Candidates({row["image_id"]: row["caption"] for row in expected})
    words = DocumentFrequencies.of(references, tokenizer=ALONE, name="references")
    stems = DocumentFrequencies.of(references, tokenizer=ALONE, name="references", stem=True)
    metrics = [Bleu(), CiderD(frequencies=words), Cider2015(frequencies=stems)]
    report = evaluate(references, candidates, metrics, tokenizer=ALONE)
    assert scored.sums.corpus == pytest.approx(report.corpus, rel=1e-12)
    signatures = {key: str(signature) for key, signature in report.signatures.items()}
    assert {key: str(signature) for key, signature in scored.sums.signatures.items()} == signatures
    plain = evaluate(references, candidates, [Bleu(), CiderD(), Cider2015()], tokenizer=ALONE)
    assert scored.sums.corpus == pytest.approx(plain.corpus, rel=1e-12)


def test_shards_score_as_one_process_does_on_any_number_of_processes(tmp_path: Path) -> None:
    everything = rows()
    shards = write(tmp_path, split(everything, 1, 20, 21, 50))
    timings: list[tuple[str, ShardTiming]] = []
    one = score_shards(shards, job(), processes=1, done=lambda step, timing: timings.append((step, timing)))
    check(one, everything)
    assert one.failures == ()
    assert sorted((step, timing.shard.candidates.name) for step, timing in timings) == [
        (step, shard.candidates.name) for step in ("checked", "scored") for shard in shards
    ]
    assert sum(timing.images for _, timing in timings) == 2 * IMAGES
    several = score_shards(shards, job(), processes=3)
    assert several.sums.corpus == one.sums.corpus


def test_bad_shards_stop_the_job_or_are_left_out_as_if_they_were_not_there(tmp_path: Path) -> None:
    everything = rows()
    parts = split(everything, 12, 24, 36, 48)
    parts[1][3] = {**parts[1][3], "caption": None}
    parts[3][5] = {**parts[3][5], "image_id": parts[0][7]["image_id"]}
    shards = write(tmp_path, parts)
    damaged = shards[2].candidates
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(
        FormatError, match=r"part-[12]\.parquet: (row 3: caption must be text|cannot read the file)"
    ):
        score_shards(shards, job(), processes=2)
    scored = score_shards(shards, job(), processes=2, skip=True)
    check(scored, [*parts[0], *parts[4]])
    messages = sorted(failure.message for failure in scored.failures)
    assert len(messages) == 3
    assert messages[0].endswith(r"part-1.parquet: row 3: caption must be text (got null)")
    assert "part-2.parquet: cannot read the file as Parquet or Arrow" in messages[1]
    image = parts[0][7]["image_id"]
    assert f"part-3.parquet: duplicate image {image} (first seen in " in messages[2]
    with pytest.raises(MismatchError, match=f"duplicate image {image}"):
        score_shards([shards[0], shards[3]], job(), processes=1)
    with pytest.raises(MismatchError, match=r"no shards remain to be scored; the first error was: .*part-2"):
        score_shards(shards[2:3], job(), processes=1, skip=True)


def test_ids_of_text_are_compared_by_themselves(tmp_path: Path) -> None:
    everything = [{**row, "image_id": f"image {row['image_id']}"} for row in rows()]
    parts = split(everything, 30)
    parts[1].append(parts[0][0])
    shards = write(tmp_path, parts)
    with pytest.raises(MismatchError, match=f"duplicate image {everything[0]['image_id']!r}"):
        score_shards(shards, job(), processes=1)


FAILS = "this caption can't be tokenized"


def fails(caption: str) -> list[str]:
    """Tokens, but of one caption."""
    if caption == FAILS:
        raise ValueError("no tokens")
    return caption.split()


def test_a_shard_that_fails_while_it_is_scored_is_not_in_the_frequencies_either(tmp_path: Path) -> None:
    everything = rows()
    parts = split(everything, 20, 40)
    parts[1][4] = {**parts[1][4], "caption": FAILS}
    shards = write(tmp_path, parts)
    tokenizer = Tokenizer(function=fails, name="fails")
    metrics = (CiderD(),)
    with pytest.raises(
        MismatchError, match=r"part-1\.parquet: tokenizer 'fails' failed on caption"
    ) as caught:
        score_shards(shards, job(metrics, tokenizer), processes=2)
    assert isinstance(caught.value.__cause__, CaptionError)
    scored = score_shards(shards, job(metrics, tokenizer), processes=2, skip=True)
    rest = score_shards([shards[0], shards[2]], job(metrics, tokenizer), processes=2)
    assert scored.sums.corpus == rest.sums.corpus
    assert str(scored.sums.signatures["CIDEr-D"]) == str(rest.sums.signatures["CIDEr-D"])
    assert [failure.shard for failure in scored.failures] == [shards[1]]


def killed_once(caption: str) -> list[str]:
    """Tokens; whoever comes first to the mark is killed."""
    mark, _, text = caption.partition("|")
    if text:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return text.split()
        os.kill(os.getpid(), signal.SIGKILL)
    return caption.split()


@pytest.mark.parametrize("column", ["references", "caption"])
def test_a_process_that_is_killed_counts_once(tmp_path: Path, column: str) -> None:
    everything = rows()
    parts = split(everything, 10, 20, 30, 40, 50)
    mark = str(tmp_path / "killed").replace("|", "")
    text = parts[3][5][column]
    parts[3][5] = {**parts[3][5], column: f"{mark}|{text}" if column == "caption" else [f"{mark}|a", "dog"]}
    shards = write(tmp_path, parts)
    tokenizer = Tokenizer(function=killed_once, name="killed")
    scored = score_shards(shards, job((Bleu(), CiderD()), tokenizer), processes=2)
    assert Path(mark).exists()
    again = score_shards(shards, job((Bleu(), CiderD()), tokenizer), processes=1)
    assert scored.sums.corpus == again.sums.corpus
    assert scored.sums.images == IMAGES


def test_folders_that_are_not_shards(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"must have files with a suffix such as '\.parquet', .* \(got none\)"
    ):
        list_shards(tmp_path, tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.parquet").touch()
    (tmp_path / "b" / "two.parquet").touch()
    with pytest.raises(MismatchError, match=r"/a is missing two\.parquet"):
        list_shards(tmp_path / "a", tmp_path / "b")
    with pytest.raises(MismatchError, match=r"/a is missing two\.parquet"):
        list_shards(tmp_path / "b", tmp_path / "a")
    (tmp_path / "a" / "two.parquet").touch()
    shards = list_shards(tmp_path / "a", tmp_path / "b")
    assert [shard.references.name for shard in shards] == ["one.parquet", "two.parquet"]
