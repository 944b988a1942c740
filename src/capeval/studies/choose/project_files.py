"""Files of chosen images for the next steps: a campaign, a dataset and a challenge."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from capeval._internal.atomic_write import atomic_write
from capeval.data.captions import ImageId
from capeval.datasets.challenge_file import make_slug, quote_toml
from capeval.datasets.open_images import ObjectAnnotations
from capeval.errors import OptionError
from capeval.formats.images import ImageInfo, image_info

__all__ = ["add_domains", "create_items", "create_texts", "require_new_files", "write_texts"]

# The files that their authors edit.
CAMPAIGN, PLANS = "campaign.toml", "plans.json"
# The number of references per image of nocaps, in addition to the caption of the human baseline.
_REFERENCES = 10


def create_items(
    annotations: ObjectAnnotations, positions: Sequence[int], *, parts: Collection[str] = ()
) -> list[dict[str, object]]:
    r"""Return the items of a campaign that collects captions, one per image.

    Workers see the names of the classes as keywords, except parts of objects (nocaps, section 3.1).

    Args:
        annotations: The objects in each image, with the names of classes.
        positions: The positions of the chosen images.
        parts: The names of classes to leave out.

    Example:
        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.studies.choose.project_files import create_items
        >>> boxes = load_boxes(b"ImageID,LabelName\na,Tire\na,Car\nb,Dog")
        >>> create_items(boxes, [0], parts=["Tire"])
        [{'key': 'a', 'image': 'a.jpg', 'keywords': ['Car']}]
    """
    objects = annotations.by_image()
    items: list[dict[str, object]] = []
    for position in positions:
        image = annotations.image_ids[position]
        keywords = sorted(name for name in objects[image] if name not in parts)
        items.append({"key": image, "image": f"{image}.jpg", "keywords": keywords})
    return items


def add_domains(
    items: Sequence[Mapping[str, object]], domains: Mapping[str, Sequence[ImageId]]
) -> list[dict[str, object]]:
    """Return the items of a campaign with the domain of each image as the class of its item.

    Progress is then shown by domain, and releases contain the domains.

    Args:
        items: The items (`create_items`).
        domains: The images of each domain.

    Example:
        >>> from capeval.studies.choose.project_files import add_domains
        >>> add_domains([{"key": "a", "image": "a.jpg", "keywords": ["Car"]}], {"in-domain": ["a"]})
        [{'key': 'a', 'image': 'a.jpg', 'keywords': ['Car'], 'category': 'in-domain'}]
    """
    known = {str(image): domain for domain, images in domains.items() for image in images}
    return [
        {**item, **({"category": known[key]} if (key := str(item["key"])) in known else {})} for item in items
    ]


def create_texts(
    title: str,
    *,
    items: Sequence[Mapping[str, object]],
    images: Sequence[ImageInfo] = (),
    domains: Mapping[str, Sequence[ImageId]] | None = None,
) -> dict[str, str]:
    r"""Return the files of a project, from the chosen images to a challenge, by name.

    With items, they include the definition of a campaign that collects the captions, and the plan of the
    dataset. As in nocaps, each image has ten references and one caption for the human baseline.

    Args:
        title: The title of the campaign.
        items: The items (`create_items`); empty for none.
        images: The addresses and licenses of the images; empty for none.
        domains: The images of each domain.

    Example:
        >>> from capeval.studies.choose.project_files import create_texts
        >>> items = [{"key": "a", "image": "a.jpg", "keywords": ["Car"]}]
        >>> texts = create_texts("Cars", items=items, domains={"in-domain": ["a"]})
        >>> list(texts)
        ['items.jsonl', 'campaign.toml', 'plans.json', 'domains.json']
        >>> texts["plans.json"]
        '{"test": {"images": null, "references": 10, "private": true, "held_out": true}}\n'
    """
    texts = {}
    if items:
        plan = {"images": None, "references": _REFERENCES, "private": True, "held_out": True}
        texts["items.jsonl"] = "".join(f"{json.dumps(item)}\n" for item in items)
        texts[CAMPAIGN] = _format_campaign(title, with_sources=bool(images))
        texts[PLANS] = json.dumps({"test": plan}) + "\n"
    if images:
        texts["image_info.json"] = json.dumps(image_info(images))
    if domains:
        texts["domains.json"] = json.dumps(domains)
    return texts


def _format_campaign(title: str, *, with_sources: bool) -> str:
    lines = [
        f"# The definition of a campaign, for `capeval server annotate create {CAMPAIGN}`.",
        "[campaign]",
        f"slug = {quote_toml(make_slug(title))}",
        f"title = {quote_toml(title)}",
        'kind = "write"',
        'text = "write-nocaps"',
        'items = "items.jsonl"',
        'images = "images"',
        *(['image_info = "image_info.json"'] if with_sources else []),
        "",
        "[settings]",
        f"# {_REFERENCES} references and the human baseline, as in {PLANS}.",
        f"answers = {_REFERENCES + 1}",
        "# Workers read these before they agree; the campaign cannot open without them.",
        *(f'{name} = ""' for name in ("run_by", "contact", "license", "pay_terms")),
    ]
    return "\n".join(lines) + "\n"


def require_new_files(folder: Path) -> None:
    """Reject a folder with files of a project, which its authors may have edited.

    Raises:
        OptionError: The folder contains such a file.

    Example:
        >>> from pathlib import Path
        >>> from capeval.studies.choose.project_files import require_new_files
        >>> _ = Path("plans.json").write_text("{}")
        >>> require_new_files(Path("."))
        Traceback (most recent call last):
        ...
        capeval.errors.OptionError: --output must be a folder without plans.json, which ...
    """
    for name in (CAMPAIGN, PLANS):
        if (folder / name).exists():
            raise OptionError(
                f"--output must be a folder without {name}, which may have been edited (got {folder});"
                " choose a different folder, or delete the file"
            )


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files, and return their paths.

    Args:
        folder: The folder.
        texts: The content of each file by name.

    Example:
        >>> from pathlib import Path
        >>> from capeval.studies.choose.project_files import write_texts
        >>> [path.name for path in write_texts(Path("."), {"domains.json": "{}"})]
        ['domains.json']
    """
    for name, text in texts.items():
        with atomic_write(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]
