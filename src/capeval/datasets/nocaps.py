"""Domains of nocaps (Agrawal et al. 2019), from files or from objects in images."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from capeval.data.captions import ImageId, References
from capeval.datasets.open_images import load_boxes, load_class_hierarchy, load_class_names
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.formats import load_references, load_subsets
from capeval.formats.io.json import IMAGE_ID, iterate_rows, read_json
from capeval.formats.io.sources import add_path_to_errors
from capeval.scoring.matching import Names, match_ids

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
    "number_images",
]

DOMAINS = ("in-domain", "near-domain", "out-domain")
"""Images with only COCO classes, with COCO and novel classes, and with only novel classes (section 3.3)."""

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
        # In Open Images, Mouse is the animal.
        "mouse": ("Computer mouse",),
        "orange": ("Orange (fruit)",),
        "potted plant": ("Houseplant",),
        "remote": ("Remote control",),
        "skis": ("Ski",),
        "sports ball": ("Ball (Object)",),
        "tv": ("Television",),
    }
)
"""Open Images classes of COCO classes with different names, or with names of a different meaning.

The paper has no such table; this one was created for capeval.
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
    """Map Open Images classes to COCO classes.

    Classes are equal if their names are equal, ignoring case, unless `aliases` contains different ones.

    Args:
        open_images: The names of all Open Images classes.
        coco: The names of COCO classes.
        below: All descendants of each class. If given, the descendants of a mapped class are also mapped, to
            the nearest mapped ancestor: Man is a person, and Goose a bird.
        aliases: The Open Images classes of COCO classes with different names.

    Returns:
        The COCO class of each mapped Open Images class; the other classes are novel.

    Raises:
        OptionError: A COCO class has no Open Images class.

    Example:
        >>> from capeval.datasets.nocaps import map_classes
        >>> classes = ["Mobile phone", "Person", "Man", "Accordion"]
        >>> map_classes(classes, ["person", "cell phone"])
        {'Person': 'person', 'Mobile phone': 'cell phone'}
        >>> map_classes(classes, ["person"], below={"Person": ["Man"]})
        {'Man': 'person', 'Person': 'person'}
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
    # From the largest class to the smallest, so that the nearest ancestor overwrites the others.
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
    """Assign each image to a domain by the classes of its objects (section 3.3).

    Args:
        objects: The names of the Open Images classes in each image.
        mapped: The Open Images classes that are COCO classes.
        classes: All Open Images classes.
        ignored: Classes to ignore, such as parts of objects.

    Returns:
        The images of each domain, without empty domains.

    Raises:
        OptionError: A class is unknown.
        MismatchError: An image has only ignored objects, or none.

    Example:
        >>> from capeval.datasets.nocaps import assign_domains
        >>> objects = {1: ["Dog"], 2: ["Dog", "Accordion"], 3: ["Accordion"]}
        >>> assign_domains(objects, {"Dog": "dog"}, classes=["Dog", "Accordion"])
        {'in-domain': [1], 'near-domain': [2], 'out-domain': [3]}
    """
    for name in (*mapped, *ignored):
        if name not in classes:
            raise OptionError(f"a mapped or ignored class must be an Open Images class (got {name!r})")
    domains: Domains = {name: [] for name in DOMAINS}
    for image, classes_in_image in objects.items():
        names = set(classes_in_image)
        unknown = names.difference(classes)
        if unknown:
            raise OptionError(f"image {image!r} has the unknown class {min(unknown)!r}")
        names.difference_update(ignored)
        if not names:
            raise MismatchError(f"image {image!r} must have at least one object to have a domain (got none)")
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
    r"""Assign each image to a domain by its Open Images boxes.

    Args:
        images: The images.
        boxes: The CSV file of boxes.
        class_names: The CSV file of class names.
        hierarchy: The JSON file of the class hierarchy; with it, descendants of a COCO class also count as
            COCO classes.
        image_info: The file of nocaps's image information, if `images` are nocaps ids instead of Open Images
            ids.

    Raises:
        FormatError: A file is invalid.
        MismatchError: An image has no box.
        OSError: A file can't be read.

    Example:
        Image `3f` shows a dog and an accordion, and image `5a` only an accordion:

        >>> from pathlib import Path
        >>> from capeval.datasets.nocaps import ALIASES, COCO_CLASSES, domains_of_boxes
        >>> classes = [ALIASES.get(name, (name,))[0] for name in COCO_CLASSES] + ["accordion"]
        >>> _ = Path("names.csv").write_text("".join(f"/m/{name},{name}\n" for name in classes))
        >>> rows = ["ImageID,LabelName", "3f,/m/dog", "3f,/m/accordion", "5a,/m/accordion"]
        >>> _ = Path("objects.csv").write_text("\n".join(rows))
        >>> domains_of_boxes(["3f", "5a"], "objects.csv", "names.csv")
        {'near-domain': ['3f'], 'out-domain': ['5a']}
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
    """Read the reference captions in a file of nocaps.

    Ids such as `17.jpg`, which occur in a common form of the file, become integers such as 17, as in results.

    Raises:
        FormatError: The file contains no captions.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.nocaps import load_captions
        >>> text = '[{"image_id": "17.jpg", "caption": ["A harp.", "A golden harp."]}]'
        >>> _ = Path("nocaps_val.json").write_text(text)
        >>> dict(load_captions("nocaps_val.json"))
        {17: ['A harp.', 'A golden harp.']}
    """
    return number_images(load_references(path))


def number_images(references: References) -> References:
    """Return references with ids such as `17.jpg` as integers; unchanged if any id differs in form.

    Example:
        >>> from capeval import References
        >>> from capeval.datasets.nocaps import number_images
        >>> dict(number_images(References({"17.jpg": ["A harp.", "A golden harp."]})))
        {17: ['A harp.', 'A golden harp.']}
    """
    numbers = _parse_numbers(references.image_ids)
    if numbers is None:
        return references
    return References({number: references[image] for image, number in numbers.items()})


def load_domains(
    path: str | Path, *, images: Iterable[ImageId] | None = None, names: Names | None = None
) -> Domains:
    """Read the domain of each image from a file.

    Args:
        path: Captions or image information with a `domain` (or `split`, `subset`) of each image, or a mapping
            of domains to image ids. Domains may be written `in_domain`, `in-domain` or `in`.
        images: The images to return, each of which must have a domain; by default all images. Their ids are
            equated with those of the file by the rules of `match_captions`.
        names: Returns the file names of the images by id.

    Raises:
        FormatError: The file is invalid, or a domain is unknown.
        MismatchError: An image has no domain, or two domains.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.nocaps import load_domains
        >>> _ = Path("nocaps_domains.json").write_text('{"in_domain": [17, 18], "out_domain": [19]}')
        >>> load_domains("nocaps_domains.json")
        {'in-domain': [17, 18], 'out-domain': [19]}
        >>> load_domains("nocaps_domains.json", images=[18])
        {'in-domain': [18]}
    """
    domains: Domains = {name: [] for name in DOMAINS}
    for label, ids in load_subsets(path).items():
        domains[_normalize_domain(label, path)] += ids
    every = [image for ids in domains.values() for image in ids]
    numbers = _parse_numbers(every)
    if numbers is not None:
        domains = {name: [numbers[image] for image in ids] for name, ids in domains.items()}
        every = list(numbers.values())
    if len(set(every)) < len(every):
        twice = next(image for image in every if every.count(image) > 1)
        raise MismatchError(f"{path}: each image must have one domain (got image {twice!r} twice)")
    if images is not None:
        wanted = list(dict.fromkeys(images))
        _, known = match_ids(wanted, every, extra="skip", names=names)
        missing = set(wanted).difference(known.values())
        if missing:
            found = [image for image in wanted if image in missing]
            raise MismatchError(f"{path}: {format_images(found)} missing a domain")
        domains = {name: [known[image] for image in ids if image in known] for name, ids in domains.items()}
    return {name: ids for name, ids in domains.items() if ids}


def load_image_ids(path: str | Path) -> dict[ImageId, ImageId]:
    """Read nocaps ids by Open Images id from a file of nocaps's image information.

    Raises:
        FormatError: The file is invalid.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.nocaps import load_image_ids
        >>> text = '{"images": [{"id": 17, "open_images_id": "0013ea2087020901"}]}'
        >>> _ = Path("nocaps_val_image_info.json").write_text(text)
        >>> load_image_ids("nocaps_val_image_info.json")
        {'0013ea2087020901': 17}
    """
    with add_path_to_errors(path):
        fields = {"id": IMAGE_ID, "open_images_id": IMAGE_ID}
        rows = iterate_rows(read_json(path), "images", fields)
        ids = {row["open_images_id"]: row["id"] for _, row in rows}
        if not ids:
            raise FormatError(
                "the file must contain at least one image (got none)", kind=FormatErrorKind.NO_IMAGES
            )
    return ids


def _normalize_domain(label: str, path: str | Path) -> str:
    plain = label.lower().replace("_", "-").replace("out-of-", "out-").removesuffix("-domain")
    name = f"{plain}-domain"
    if name not in DOMAINS:
        message = f"unknown domain {label!r}; the domains are {', '.join(DOMAINS)}"
        raise FormatError(message, kind=FormatErrorKind.UNKNOWN_DOMAIN, path=path)
    return name


def _parse_numbers(images: Iterable[ImageId]) -> dict[ImageId, int] | None:
    """Return the numbers in ids such as `17.jpg`, or None if any id differs in form."""
    numbers = {}
    for image in images:
        match = _SUFFIX.fullmatch(image) if isinstance(image, str) else None
        if match is None:
            return None
        numbers[image] = int(match[1])
    return numbers
