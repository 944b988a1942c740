"""nocaps (Agrawal et al. 2019): its domains, from its files or from the objects in the images."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from capeval.data.captions import ImageId, References
from capeval.datasets.open_images import load_boxes, load_class_hierarchy, load_class_names
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError
from capeval.errors.messages import first_few
from capeval.formats import load_references, load_subsets
from capeval.formats.io.json import IMAGE_ID, json_rows, read_json
from capeval.formats.io.sources import naming

__all__ = [
    "ALIASES",
    "COCO_CLASSES",
    "DOMAINS",
    "Domains",
    "assign_domains",
    "domains_of_boxes",
    "load_captions",
    "load_domains",
    "load_image_ids",
    "map_classes",
]

DOMAINS = ("in-domain", "near-domain", "out-domain")
"""Images with COCO classes alone, with COCO and novel classes, with novel classes alone (section 3.3)."""

Domains = dict[str, list[ImageId]]
"""The images of each domain, in the order of `DOMAINS`."""

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "airplane": ("Fixed-wing aircraft",),
        "cell phone": ("Mobile phone",),
        "cow": ("Cattle",),
        "cup": ("Coffee cup", "Mug"),
        "dining table": ("Table",),
        "donut": ("Doughnut",),
        "frisbee": ("Flying disc",),
        "hair drier": ("Hair dryer",),
        "keyboard": ("Computer keyboard",),
        "microwave": ("Microwave oven",),
        # Open Images also has Mouse, the animal.
        "mouse": ("Computer mouse",),
        "orange": ("Orange (fruit)",),
        "potted plant": ("Houseplant",),
        "remote": ("Remote control",),
        "skis": ("Ski",),
        "sports ball": ("Ball (Object)",),
        "tv": ("Television",),
    }
)
"""The Open Images classes of COCO classes whose names differ, or mean something else.

The paper has no such table; this one was made for capeval.
"""

# fmt: off
COCO_CLASSES = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light",
    "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow",
    "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee",
    "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
    "tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple",
    "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch",
    "potted plant", "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard",
    "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator", "book", "clock", "vase",
    "scissors", "teddy bear", "hair drier", "toothbrush",
)
# fmt: on
"""The 80 object classes of COCO."""

_SUFFIX = re.compile(r"(0|[1-9][0-9]{0,17})\.(?:jpg|jpeg|png)")


def map_classes(
    open_images: Collection[str],
    coco: Iterable[str],
    *,
    below: Mapping[str, Collection[str]] | None = None,
    aliases: Mapping[str, Collection[str]] = ALIASES,
) -> dict[str, str]:
    """Maps Open Images classes to COCO classes.

    Classes are the same when their names are equal, apart from case, unless `aliases` names others.

    Args:
        open_images: The names of all Open Images classes.
        coco: The names of COCO classes.
        below: All classes below each class. Where given, what is below a mapped class is mapped too
            (Man is a person, Goose a bird), to the nearest one of the mapped classes above.
        aliases: The Open Images classes of COCO classes whose names differ.

    Returns:
        The COCO class of each Open Images class that is one; the others are novel.

    Raises:
        OptionError: A COCO class has no Open Images class.
    """
    names = {name.lower(): name for name in open_images}
    mapped: dict[str, str] = {}
    for name in coco:
        same = [names[alias.lower()] for alias in aliases.get(name, (name,)) if alias.lower() in names]
        if not same:
            raise OptionError(
                f"COCO class {name!r} must have an Open Images class, by name or alias (got none)"
            )
        mapped.update(dict.fromkeys(same, name))
    if below is None:
        return mapped
    inherited: dict[str, str] = {}
    # From the largest class to the smallest, so that the nearest class overwrites the others.
    for name in sorted(mapped, key=lambda each: (-len(below.get(each, ())), each)):
        inherited.update(dict.fromkeys(below.get(name, ()), mapped[name]))
    return {**inherited, **mapped}


def assign_domains(
    objects: Mapping[ImageId, Iterable[str]],
    mapped: Mapping[str, str],
    *,
    classes: Collection[str],
    ignored: Collection[str] = (),
) -> Domains:
    """Finds the domain of each image from the classes of the objects in it (section 3.3).

    Args:
        objects: The names of the Open Images classes in each image.
        mapped: The Open Images classes that are COCO classes.
        classes: All Open Images classes.
        ignored: Classes that do not count, such as parts of objects.

    Returns:
        The images of each domain; a domain without images is left out.

    Raises:
        OptionError: A class is not known.
        MismatchError: An image has no object that counts.
    """
    for name in (*mapped, *ignored):
        if name not in classes:
            raise OptionError(f"a mapped or ignored class must be one of Open Images (got {name!r})")
    domains: Domains = {name: [] for name in DOMAINS}
    for image, classes_in_image in objects.items():
        names = set(classes_in_image)
        unknown = names.difference(classes)
        if unknown:
            raise OptionError(f"image {image!r} must have known classes (got {min(unknown)!r})")
        names.difference_update(ignored)
        if not names:
            raise MismatchError(f"image {image!r} must have an object to have a domain (got none)")
        familiar = sum(name in mapped for name in names)
        place = 0 if familiar == len(names) else 1 if familiar else 2
        domains[DOMAINS[place]].append(image)
    return {name: images for name, images in domains.items() if images}


def domains_of_boxes(
    images: Iterable[ImageId],
    boxes: str | Path,
    class_names: str | Path,
    *,
    hierarchy: str | Path | None = None,
    image_info: str | Path | None = None,
) -> Domains:
    """The domain of each image, from the Open Images boxes in it.

    Args:
        images: The images.
        boxes: CSV of the boxes.
        class_names: CSV of the names of the classes.
        hierarchy: JSON of the hierarchy of classes; with it, classes below a COCO class are COCO's too.
        image_info: nocaps's image information, where `images` are its ids and not those of Open Images.

    Raises:
        FormatError: A file is something else.
        MismatchError: An image has no box.
        OSError: A file can't be read.
    """
    names = load_class_names(class_names)
    below = load_class_hierarchy(hierarchy, names) if hierarchy else None
    mapped = map_classes(names.values(), COCO_CLASSES, below=below)
    objects = load_boxes(boxes, names).by_image()
    if image_info is not None:
        ids = load_image_ids(image_info)
        objects = {ids[image]: classes for image, classes in objects.items() if image in ids}
    wanted = {image: objects.get(image, {}) for image in images}
    return assign_domains(wanted, mapped, classes=set(names.values()))


def load_captions(path: str | Path) -> References:
    """The reference captions in a file of nocaps.

    Ids such as `17.jpg`, which one common form of the file has, become the 17 that results name.

    Raises:
        FormatError: The file has no captions.
        OSError: The file can't be read.
    """
    references = load_references(path)
    numbers = _numbers(references.image_ids)
    if numbers is None:
        return references
    return References({number: references[image] for image, number in numbers.items()})


def load_domains(path: str | Path, *, images: Iterable[ImageId] | None = None) -> Domains:
    """The domain of each image, from a file.

    Args:
        path: Captions or image information with a `domain` (or `split`, `subset`) for each image, or a
            mapping of domains to image ids. Domains may be written `in_domain`, `in-domain`, `in`.
        images: The images whose domains are returned, each of which must have one; all by default.

    Raises:
        FormatError: The file is something else, or a domain is not known.
        MismatchError: An image has no domain, or two.
        OSError: The file can't be read.
    """
    domains: Domains = {name: [] for name in DOMAINS}
    for label, ids in load_subsets(path).items():
        domains[_domain(label, path)] += ids
    every = [image for ids in domains.values() for image in ids]
    numbers = _numbers(every)
    if numbers is not None:
        domains = {name: [numbers[image] for image in ids] for name, ids in domains.items()}
        every = list(numbers.values())
    if len(set(every)) < len(every):
        twice = next(image for image in every if every.count(image) > 1)
        raise MismatchError(f"{path}: an image must have one domain (got image {twice!r} twice)")
    if images is not None:
        wanted, known = dict.fromkeys(images), set(every)
        missing = [image for image in wanted if image not in known]
        if missing:
            raise MismatchError(f"{path}: {first_few(missing)} without a domain")
        domains = {name: [image for image in ids if image in wanted] for name, ids in domains.items()}
    return {name: ids for name, ids in domains.items() if ids}


def load_image_ids(path: str | Path) -> dict[ImageId, ImageId]:
    """The ids of images by their Open Images ids, from a file of nocaps's image information.

    Raises:
        FormatError: The file is something else.
        OSError: The file can't be read.
    """
    with naming(path):
        fields = {"id": IMAGE_ID, "open_images_id": IMAGE_ID}
        rows = json_rows(read_json(path), "images", fields)
        ids = {row["open_images_id"]: row["id"] for _, row in rows}
        if not ids:
            raise FormatError(
                "the file must list at least one image (got none)", kind=FormatErrorKind.NO_IMAGES
            )
    return ids


def _domain(label: str, path: str | Path) -> str:
    plain = label.lower().replace("_", "-").replace("out-of-", "out-").removesuffix("-domain")
    name = f"{plain}-domain"
    if name not in DOMAINS:
        message = f"a domain must be one of {', '.join(DOMAINS)} (got {label!r})"
        raise FormatError(message, kind=FormatErrorKind.UNKNOWN_DOMAIN, path=path)
    return name


def _numbers(images: Iterable[ImageId]) -> dict[ImageId, int] | None:
    """The numbers in ids such as `17.jpg`; None where an id has another form."""
    numbers = {}
    for image in images:
        match = _SUFFIX.fullmatch(image) if isinstance(image, str) else None
        if match is None:
            return None
        numbers[image] = int(match[1])
    return numbers
