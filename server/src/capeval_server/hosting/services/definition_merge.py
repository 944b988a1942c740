"""Merge of a definition with the existing challenge.

An import keeps everything that its file does not name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from capeval_server.core.errors import ChallengeError

__all__ = ["Merge"]

# Keys whose values are file names.
_FILES = ("file", "human", "subsets", "images", "image_archive", "constraints")
# Keys whose values are lists of named entries.
_NAMED = ("splits", "phases", "references", "reported", "fields", "pages")
_DELETABLE = re.compile(
    r"challenge\.((fields|pages)\.[^.]+|data_released|email_domains|team_size)"
    r"|phases\.[^.]+\.(quota_per_month|quota_per_window|quota_window_days)"
    r"|splits\.[^.]+\.(images|image_archive|constraints|subsets\..+|references\.[^.]+\.(human|reported\.[^.]+))"
)


@dataclass(kw_only=True)
class Merge:
    """Merge of a definition with a challenge.

    Attributes:
        now: The definition of the current challenge.
        places: The places of everything that files can change, such as `splits.val.subsets.animals`.
        is_there: Returns whether the import contains a file.
        delete: Places to delete in addition to those in the definition.
        kept: The places that are not in the definition and are kept; complete after the merge.
        deleted: The deleted places; complete after the merge.
    """

    now: Mapping[str, Any]
    places: Iterable[str]
    is_there: Callable[[str], bool]
    delete: Iterable[str] = ()
    kept: list[str] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)

    def __call__(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the complete definition, without files of kept content.

        Raises:
            ChallengeError: A place to delete does not exist, or is in the definition.
        """
        listed = given.get("delete", [])
        if not isinstance(listed, list) or not all(isinstance(place, str) for place in listed):
            raise ChallengeError("delete must be a list of places, such as splits.val.references.c5.human")
        now: dict[str, Any] = deepcopy(dict(self.now))
        for place in (*listed, *self.delete):
            self._drop(now, place)
        found: dict[str, Any] = self._merge(now, given, "")
        for place in self.deleted:
            if _exists(found, place.split(".")):
                raise ChallengeError(f"delete: {place} is also in the definition: remove it from one of them")
        return found

    def _drop(self, now: dict[str, Any], place: str) -> None:
        """Remove a deleted place from the description of the challenge."""
        if not _DELETABLE.fullmatch(place):
            raise ChallengeError(
                f"delete: {place!r} can't be deleted; possible are fields, pages, subsets, images,"
                " image_archive, constraints, human captions and reported scores, such as"
                " splits.val.references.c5.reported.coco-2015"
            )
        parts = place.split(".")
        if place in self.deleted:
            return
        if ".subsets." not in place:
            if not _exists(now, parts):
                raise ChallengeError(f"delete: the challenge has no {place}")
            parent = _get_value(now, parts[:-1])
            if isinstance(parent, list):
                parent[:] = [each for each in parent if each["name"] != parts[-1]]
            else:
                del parent[parts[-1]]
        elif place not in self.places:
            raise ChallengeError(f"delete: the challenge has no {place}")
        self.deleted.add(place)

    def _merge(self, now: Any, given: Any, place: str) -> Any:
        key = place.rpartition(".")[2]
        if isinstance(now, dict) and isinstance(given, dict):
            return self._merge_table(now, given, place)
        if key in _NAMED and _is_named(now) and _is_named(given):
            return self._merge_list(now, given, place)
        return given

    def _merge_table(self, now: dict[str, Any], given: dict[str, Any], place: str) -> dict[str, Any]:
        found = {}
        for key, value in given.items():
            # A file name from an export, without that file in the import, stands for the existing content.
            if _is_file(key, value) and value == now.get(key) and not self.is_there(value):
                self.kept.append(_join_place(place, key))
            else:
                found[key] = self._merge(now[key], value, _join_place(place, key)) if key in now else value
        for key, value in now.items():
            if key in given:
                continue
            if not _is_file(key, value):
                found[key] = self._remove_files(value)
            if key in _NAMED and _is_named(value):
                # Identified by name, like places to delete.
                self.kept += [_join_place(_join_place(place, key), each["name"]) for each in value]
            elif value and (_is_file(key, value) or place == "challenge"):
                self.kept.append(_join_place(place, key))
        return found

    def _merge_list(
        self, now: list[dict[str, Any]], given: list[dict[str, Any]], place: str
    ) -> list[dict[str, Any]]:
        known = {each["name"]: each for each in now}
        found = []
        for each in given:
            old = known.pop(each["name"], None)
            found.append(each if old is None else self._merge(old, each, _join_place(place, each["name"])))
        self.kept += [_join_place(place, name) for name in known]
        return [*found, *map(self._remove_files, known.values())]

    def _remove_files(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._remove_files(each) for key, each in value.items() if not _is_file(key, each)}
        return [self._remove_files(each) for each in value] if isinstance(value, list) else value


def _is_file(key: str, value: Any) -> bool:
    # The subsets of a split are a file, but those of its columns are a list of names.
    return key in _FILES and not isinstance(value, list)


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in value
    )


def _join_place(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _get_value(content: Any, parts: list[str]) -> Any:
    """Return the value at a place, or None."""
    for part in parts:
        if isinstance(content, list):
            content = next((each for each in content if each["name"] == part), None)
        else:
            content = content.get(part) if isinstance(content, dict) else None
    return content


def _exists(content: Any, parts: list[str]) -> bool:
    return _get_value(content, parts) is not None
