"""Checks of submissions to a challenge, which the server and the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from capeval.data.captions import Candidates, ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import describe_image_mismatch
from capeval.formats.io.archives import is_zip, read_zip
from capeval.formats.result_files import find_algorithm
from capeval.scoring.matching import Names, match_ids

__all__ = ["assign_splits", "match_images", "unpack_upload"]


def unpack_upload(name: str, data: bytes, *, limit: int) -> dict[str, bytes]:
    """Return the files of an upload by name: a result file, or the files in a zip.

    Args:
        name: The name of the uploaded file.
        data: Its content.
        limit: The maximum total size of the decompressed files, in bytes.

    Raises:
        FormatError: The file is an invalid zip.
    """
    return read_zip(data, limit=limit) if is_zip(name, data) else {name: data}


def assign_splits(
    files: Iterable[str],
    splits: Mapping[str, str],
    phase: str = "",
    find_phases: Callable[[str], Sequence[str]] = lambda _: (),
) -> tuple[dict[str, str], str]:
    """Return the split of each file of an upload, and their algorithm.

    Args:
        files: The names of the files.
        splits: The form of the file name of each split of the phase, by the name of the split.
        phase: The name of the phase; empty to leave it out of messages.
        find_phases: Returns the other phases that accept a file name.

    Raises:
        FormatError: A file name belongs to no split, a split has no results or several, or the files have
            different algorithms; `entry` is the name of the invalid file, if there is one.
    """
    assigned: dict[str, str] = {}
    algorithms = set()
    for file in files:
        found = {name: find_algorithm(form, file) for name, form in splits.items()}
        split = next((name for name, algorithm in found.items() if algorithm is not None), None)
        if split is None:
            raise FormatError(
                _describe_wrong_name(list(splits.values()), find_phases(file)),
                kind=FormatErrorKind.WRONG_MEMBERS,
                entry=file,
            )
        if before := next((name for name, each in assigned.items() if each == split), None):
            raise FormatError(
                f"split {split!r} already has results in {before!r}",
                kind=FormatErrorKind.DUPLICATE,
                entry=file,
            )
        assigned[file] = split
        algorithms.add(str(found[split]))
    for split, form in splits.items():
        if split not in assigned.values():
            of_phase = f" of phase {phase!r}" if phase else ""
            raise FormatError(
                f"the upload must contain {form!r}, the results of split {split!r}{of_phase}",
                kind=FormatErrorKind.MISSING,
            )
    if len(algorithms) > 1:
        got = ", ".join(map(repr, sorted(algorithms)))
        raise FormatError(
            f"all files must have the same algorithm (got {got})", kind=FormatErrorKind.WRONG_MEMBERS
        )
    return assigned, algorithms.pop()


def _describe_wrong_name(forms: Sequence[str], others: Sequence[str]) -> str:
    other = f"; it has the name of results for {_list_phases(others)}" if others else ""
    return f"the file must be named {' or '.join(map(repr, forms))}{other}"


def _list_phases(phases: Sequence[str]) -> str:
    return f"phase{'s' * (len(phases) > 1)} {' and '.join(map(repr, phases))}"


def match_images(
    candidates: Candidates,
    images: Sequence[ImageId],
    *,
    split: str,
    names: Names | None = None,
    longest: int,
    find_phases: Callable[[Sequence[ImageId]], Sequence[str]] = lambda _: (),
) -> tuple[str, dict[ImageId, ImageId]]:
    """Match the images of a result file to those of its split, and check the lengths of captions.

    Args:
        candidates: The captions of the file.
        images: The split's images.
        split: The name of the split.
        names: Returns the known file names of the split's images.
        longest: The maximum number of characters of a caption.
        find_phases: Returns the other phases of a challenge that some images belong to.

    Returns:
        The rule that matched the ids, which is empty if they are equal, and the split's id of each image of
        the file, as from `match_ids`.

    Raises:
        FormatError: The file covers other images, or a caption is too long.
    """
    rule, ids = match_ids(images, candidates.image_ids, names=names)
    # Without a rule for all images, the error names only the images that no rule matches.
    known = ids or match_ids(images, candidates.image_ids, extra="skip", names=names)[1]
    found = [known.get(image, image) for image in candidates]
    if problem := describe_image_mismatch(found, images, f"split {split!r}", "a caption"):
        others = find_phases(candidates.image_ids)
        of_others = f"; they are the images of {_list_phases(others)}" if others else ""
        raise FormatError(f"{problem}{of_others}", kind=FormatErrorKind.MISMATCH)
    for image, captions in candidates.items():
        if (length := max(map(len, captions))) > longest:
            raise FormatError(
                f"captions must have at most {longest:,} characters (got {length:,} for image {image!r})",
                kind=FormatErrorKind.WRONG_LENGTH,
            )
    return rule, ids
