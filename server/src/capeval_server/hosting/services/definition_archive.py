"""Files of a challenge's definition, with private references, for a challenge that is deleted."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from capeval_server.challenges.models import Challenge, ReferenceSet, Split
from capeval_server.challenges.services.image_lists import as_image_info
from capeval_server.hosting.services.description import describe
from capeval_server.hosting.services.reported_scores import reported_csv

__all__ = ["list_definition_files"]


def list_definition_files(challenge: Challenge) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files that the definition of a challenge names.

    Importing them with the definition creates the challenge again, without teams and submissions. Earlier
    versions of references are included, in a folder.
    """
    for about in describe(challenge)["splits"]:
        split = challenge.splits.get(name=about["name"])
        if "images" in about:
            yield about["images"], as_image_info(split)
        if "image_archive" in about:
            with split.image_archive.file.open("rb") as file:
                yield about["image_archive"], file.read()
        if "constraints" in about:
            yield about["constraints"], zlib.decompress(bytes(split.constraints.content))
        if "subsets" in about:
            yield about["subsets"], json.dumps(split.get_subset_images(), ensure_ascii=False).encode()
        for entry in about["references"]:
            yield from _list_references(split.reference_sets.get(name=entry["name"]), split, entry)


def _list_references(
    references: ReferenceSet, split: Split, about: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    for version in references.versions.order_by("number"):
        with version.file.open("rb") as file:
            ending = "".join(PurePosixPath(str(version.file.name)).suffixes)
            earlier = f"earlier/references_{split.name}_{references.name}_v{version.number}{ending}"
            yield about["file"] if version.number == references.version else earlier, file.read()
    for baseline in references.baselines.prefetch_related("files"):
        for part in baseline.files.all():
            with part.file.open("rb") as file:
                yield about["human"], file.read()
    for reported in references.reported.order_by("name"):
        name = f"reported_{split.name}_{references.name}_{reported.name}.csv"
        yield name, reported_csv(reported).encode()
