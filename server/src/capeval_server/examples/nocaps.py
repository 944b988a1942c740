"""Data of the example `nocaps`, from captions of COCO 2014 or a registered nocaps, and published scores."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from capeval.data.captions import ImageId, References
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from capeval.datasets.nocaps import COCO_CLASSES, DOMAINS
from capeval.datasets.nocaps_partitions import count_domains, describe_partition
from capeval.datasets.published.tables import NocapsRow, load_nocaps
from capeval.datasets.registered_files import find_file, read_file
from capeval.formats import write_candidates, write_references
from capeval.formats.io.json import write_json
from capeval.metrics import METRICS

__all__ = ["assign_domain", "name_training_data", "write_data"]

_PAGES = Path(__file__).parent / "nocaps"
_REGISTERED = "nocaps-val"
# The stand-ins: images of train2014, from the first or second of each 16, and their number.
_STRIDE, _VAL, _TEST = 16, 1500, 3000
_IMAGE_URL = 'image_url = "http://images.cocodataset.org/train2014/COCO_train2014_{id:012}.jpg"'
# Words for people, and names of classes, in singular and plural.
_PEOPLE = ("man", "men", "woman", "women", "boy", "girl", "child", "children", "people", "guy", "lady", "kid")
_CLASS = re.compile(rf"\b(?:{'|'.join((*COCO_CLASSES, *_PEOPLE))})(?:e?s)?\b", re.IGNORECASE)
_REPOSITORY = "nocaps-org/updown-baseline"
_ARXIV = re.compile(r"\(arXiv ([\w.]+)\)")
_STAND_IN = """**What stands in for nocaps.** The references of the test images have never been published.
{val} The domains of stand-in images are assigned by their captions: `in-domain` if every caption of an image
names one of COCO's classes, `out-domain` if none does, `near-domain` otherwise. Scores on the stand-in can't
be compared with published scores."""
_VAL_REGISTERED = """`val` consists of the real captions, from the file that was registered on this machine,
with nine references and one human caption. `test` consists of images of COCO's train2014, with four
references and one human caption."""
_VAL_STAND_IN = """The validation captions are public on nocaps.org, and not part of the installed packages.
If they are registered with `capeval data add nocaps-val nocaps_val_4500_captions.json`, this example uses
them. Here, `val` and `test` consist of images of COCO's train2014, with four references and one human
caption."""


def write_data(folder: Path) -> None:
    """Write the data files of the challenge, its definition, and the page about its data.

    Raises:
        ResourceError: `pycocoevalcap` is not installed.
        FormatError: The registered file of nocaps is damaged.
        OSError: The folder is not writable.
    """
    train = coco.load_captions("train2014")
    images = sorted(train.image_ids, key=int)
    is_registered = find_file(_REGISTERED).exists()
    if is_registered:
        val, val_domains = read_file(_REGISTERED)
    else:
        val = train.select(images[1::_STRIDE][:_VAL])
        val_domains = _assign_domains(val)
    test = train.select(images[2::_STRIDE][:_TEST])
    domains = {"val": val_domains, "test": _assign_domains(test)}
    for name, references in (("val", val), ("test", test)):
        others, human = hold_out(references, seed=0)
        write_references(others, folder / f"references_{name}.json")
        write_candidates(human, folder / f"human_{name}.json")
        write_json(domains[name], folder / f"domains_{name}.json")
    _write_rows(load_nocaps("val", partition=(648, 2938, 914)), folder / "published_val_nocaps_org.csv")
    _write_rows(load_nocaps("val", partition=(417, 2670, 1413)), folder / "published_val_paper_v1.csv")
    _write_rows(load_nocaps("test"), folder / "published_test_paper_v1.csv")
    page = (_PAGES / "data.md").read_text(encoding="utf-8")
    stand_in = _STAND_IN.replace("{val}", _VAL_REGISTERED if is_registered else _VAL_STAND_IN)
    page = page.replace("{stand_in}", stand_in).replace("{domains}", _format_domains(domains))
    (folder / "data.md").write_text(page, encoding="utf-8")
    definition = (_PAGES / "challenge.toml").read_text(encoding="utf-8")
    definition = definition.replace("# IMAGES val", "" if is_registered else _IMAGE_URL)
    definition = definition.replace("# IMAGES test", _IMAGE_URL)
    if not all(resource.is_available for resource in METRICS["SPICE"]().resources):
        definition = definition.replace(', "SPICE"', "")
    (folder / "challenge.toml").write_text(definition, encoding="utf-8")


def assign_domain(captions: Sequence[str]) -> str:
    """Return the domain of a stand-in image by its captions.

    Example:
        >>> from capeval_server.examples.nocaps import assign_domain
        >>> assign_domain(["Two dogs.", "A man and a dog."]), assign_domain(["A harp.", "A dog and a harp."])
        ('in-domain', 'near-domain')
    """
    naming = sum(_CLASS.search(caption) is not None for caption in captions)
    return DOMAINS[0 if naming == len(captions) else 2 if naming == 0 else 1]


def name_training_data(training: str) -> str:
    """Return the value of the field `training-data` for published training data; empty for people.

    The rules count paired captions and ground truth: other data are welcome.

    Example:
        >>> from capeval_server.examples.nocaps import name_training_data
        >>> name_training_data("COCO captions, Open Images objects")
        'COCO only'
        >>> name_training_data("pre-training on image-text pairs, COCO captions")
        'extra pairs'
    """
    if training == "people":
        return ""
    if "ground truth" in training:
        return "ground-truth boxes"
    return "extra pairs" if "image-text pairs" in training else "COCO only"


def _find_url(source: str) -> str:
    """Return the URL of a source of published scores; empty if it is unknown."""
    paper = _ARXIV.search(source)
    if paper:
        return f"https://arxiv.org/abs/{paper[1]}"
    return f"https://github.com/{_REPOSITORY}" if source.startswith(_REPOSITORY) else ""


def _assign_domains(references: References) -> dict[str, list[ImageId]]:
    found: dict[str, list[ImageId]] = {name: [] for name in DOMAINS}
    for image in references:
        found[assign_domain(references[image])].append(image)
    return found


def _write_rows(rows: Sequence[NocapsRow], path: Path) -> None:
    """Write published scores, which are in percent, in the format of reported scores."""
    columns = {
        f"{metric} ({domain})" if domain != "overall" else metric: (domain, metric)
        for row in rows
        for domain, scores in row.scores.items()
        if domain != "COCO"
        for metric in scores
    }
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["team", "method", "url", "publication", "training-data", *columns])
        for row in rows:
            scores = [row.scores.get(domain, {}).get(metric) for domain, metric in columns.values()]
            cells = ["" if score is None else f"{score / 100:.4g}" for score in scores]
            about = [row.system, f"Training data: {row.training}", _find_url(row.source), row.source]
            writer.writerow([*about, name_training_data(row.training), *cells])


def _format_domains(domains: Mapping[str, Mapping[str, Sequence[ImageId]]]) -> str:
    """Return the numbers of images as a Markdown table."""
    lines = [
        "| Split | In domain | Near domain | Out of domain | Partition |",
        "| --- | --- | --- | --- | --- |",
    ]
    for split, images in domains.items():
        sizes = count_domains({name: len(images[name]) for name in images})
        lines.append(
            f"| {split} | {' | '.join(f'{size:,}' for size in sizes)} | {describe_partition(sizes)} |"
        )
    return "\n".join(lines)
