"""Named benchmarks: registration, references and citations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval import load_references
from capeval.datasets import benchmarks, karpathy, registered_files
from capeval.datasets.benchmarks import BENCHMARKS
from capeval.errors import FormatError, MismatchError, OptionError, ResourceError
from tests.capeval.benchmark_files import write_flickr, write_nocaps
from tests.shared_data import shared_data


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_described(name: str) -> None:
    benchmark = BENCHMARKS[name]
    assert benchmark.name == name
    assert "" not in (benchmark.title, benchmark.source, benchmark.license, benchmark.command)
    assert benchmark.bibtex.count("\n@") + 1 == len(benchmark.citations)
    assert all(f"{{{key}," in benchmark.bibtex for key in benchmark.citations)


@pytest.mark.parametrize("name", ["coco-karpathy-test", "coco-karpathy-val", "coco-val2014"])
def test_the_captions_of_coco_are_installed(name: str) -> None:
    found = benchmarks.load(name)
    counts = found.references.counts
    assert len(found.references) == found.benchmark.images
    assert (counts.min(), counts.max()) == found.benchmark.references
    assert found.subsets == {}


@pytest.mark.parametrize("split", ["test", "val"])
def test_the_karpathy_splits_are_those_of_the_published_lists(split: karpathy.Split) -> None:
    path = shared_data("karpathy") / f"karpathy_{split}_images.txt.gz"
    assert karpathy.list_images(split) == sorted(karpathy.load_images(path))
    assert karpathy.load_split(split) == karpathy.load_references(path)


def test_the_references_are_those_of_a_published_system() -> None:
    references = load_references(shared_data("karpathy") / "viecap_test_references.json.gz")
    assert benchmarks.load("coco-karpathy-test").references == references


@pytest.mark.parametrize(
    ("sizes", "partition"),
    [
        ((648, 2938, 914), "partition of nocaps.org"),
        ((417, 2670, 1413), "partition of the paper's first version"),
        ((1500, 1500, 1500), "own partition"),
    ],
)
def test_registered_captions_are_read_again(
    folder: Path, sizes: tuple[int, int, int], partition: str
) -> None:
    path = benchmarks.add("nocaps-val", write_nocaps(folder, sizes))
    assert path == folder / "data" / "nocaps-val.json.gz"
    found = benchmarks.load("nocaps-val")
    assert found.references == load_references(folder / "nocaps_val_4500_captions.json")
    assert tuple(map(len, found.subsets.values())) == sizes
    assert found.notes[0].endswith(f" out ({partition}).")
    before = path.read_bytes()
    benchmarks.add("nocaps-val", write_nocaps(folder, sizes))
    assert path.read_bytes() == before
    assert benchmarks.remove("nocaps-val") == path
    assert not BENCHMARKS["nocaps-val"].is_available


def test_domains_of_another_file(folder: Path) -> None:
    captions = write_nocaps(folder)
    content = json.loads(captions.read_text())
    domains = {"in": [image["id"] for image in content["images"]]}
    content["images"] = [{"id": image["id"]} for image in content["images"]]
    captions.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"with --domains$"):
        benchmarks.add("nocaps-val", captions)
    (folder / "domains.json").write_text(json.dumps(domains))
    benchmarks.add("nocaps-val", captions, domains=folder / "domains.json")
    assert list(benchmarks.load("nocaps-val").subsets) == ["in-domain"]


def test_the_test_split_is_selected(folder: Path) -> None:
    benchmarks.add("flickr8k-test", write_flickr(folder))
    references = benchmarks.load("flickr8k-test").references
    assert references == load_references(folder / "dataset_flickr8k.json", split="test")


def test_a_list_of_images_selects_them(folder: Path) -> None:
    captions = shared_data("flickr8k") / "Flickr8k.token.txt.gz"
    every = load_references(captions)
    images = [image for image in every if "#" not in str(image)][:1000]
    # Lists of Flickr30k have no extensions.
    (folder / "test.txt").write_text("".join(f"{str(image).removesuffix('.jpg')}\n" for image in images))
    benchmarks.add("flickr8k-test", captions, image_list=folder / "test.txt")
    assert benchmarks.load("flickr8k-test").references == every.select(images)
    with pytest.raises(MismatchError, match=r"8,092 images with 5.*; set the list .* with --image-list$"):
        benchmarks.add("flickr8k-test", captions)
    (folder / "test.txt").write_text("unknown.jpg\n")
    with pytest.raises(MismatchError, match=r"test\.txt: image 'unknown.jpg' is listed but not among"):
        benchmarks.add("flickr8k-test", captions, image_list=folder / "test.txt")


@pytest.mark.parametrize(
    ("sizes", "references", "found"),
    [((1, 1, 1), 10, "3 images with 10"), ((648, 2938, 914), 1, "4,500 images with 1")],
)
def test_other_captions_are_refused(
    folder: Path, sizes: tuple[int, int, int], references: int, found: str
) -> None:
    path = write_nocaps(folder, sizes, references)
    with pytest.raises(MismatchError, match=f"4,500 images with 10 references each \\(got {found}\\)"):
        benchmarks.add("nocaps-val", path)
    assert not (folder / "data").exists()


def test_a_file_without_the_test_split_is_refused(folder: Path) -> None:
    with pytest.raises(FormatError, match="unknown split 'test'; the file has the splits"):
        benchmarks.add("flickr30k-test", write_flickr(folder, split="val"))


def test_errors_name_the_fix(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResourceError, match=r"https://nocaps.org/download and run `capeval data add nocaps-"):
        benchmarks.load("nocaps-val")
    with pytest.raises(OptionError, match="unknown benchmark 'nocaps'; did you mean 'nocaps-val'"):
        benchmarks.load("nocaps")
    with pytest.raises(OptionError, match="mean 'coco-karpathy-test' or 'coco-karpathy-val'"):
        benchmarks.load("COCO-Karpathy")
    with pytest.raises(OptionError, match="unknown benchmark 'x'; run 'capeval data list'"):
        benchmarks.load("x")
    with pytest.raises(OptionError, match="needs no file"):
        benchmarks.add("coco-val2014", folder / "captions.json")
    with pytest.raises(OptionError, match="flickr8k-test has no --domains"):
        benchmarks.add("flickr8k-test", folder / "captions.json", domains=folder / "domains.json")
    with pytest.raises(OptionError, match="'nocaps-val' has no registered captions"):
        benchmarks.remove("nocaps-val")
    monkeypatch.setenv("CAPEVAL_DATA", "")
    with pytest.raises(OptionError, match="CAPEVAL_DATA must be a folder"):
        registered_files.data_folder()


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_damage_is_reported(folder: Path, damage: str) -> None:
    path = benchmarks.add("flickr8k-test", write_flickr(folder))
    data = path.read_bytes()
    damaged = {
        "cut": data[:-20],
        "changed": data[:100] + bytes(20) + data[120:],
        "empty": b"",
        "other": (folder / "dataset_flickr8k.json").read_bytes(),
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(ResourceError, match=r"is damaged .*; run `capeval data add flickr8k-test"):
        benchmarks.load("flickr8k-test")


def test_the_data_folder_is_the_users_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAPEVAL_DATA")
    assert registered_files.data_folder().name == "capeval"
