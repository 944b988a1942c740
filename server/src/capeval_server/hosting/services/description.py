"""Description of a challenge as a `challenge.toml`, and comparison of two of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import tomli_w
from django.db.models import QuerySet

from capeval.formats.declared_fields import DeclaredField
from capeval_server.challenges.models import LEAST_SUBSET, Challenge, Phase, ReferenceSet, Reported, Split
from capeval_server.challenges.selectors.public_data import name_image_archive
from capeval_server.submissions.models import Submission

__all__ = [
    "CHALLENGE_DEFAULTS",
    "PHASE_DEFAULTS",
    "Change",
    "changes",
    "describe",
    "describe_main",
    "describe_phase",
    "fingerprint",
    "state_of",
    "to_toml",
]

# Values that definitions leave out.
CHALLENGE_DEFAULTS: Mapping[str, Any] = {
    "visibility": "public",
    "data_released": None,
    "invitation_only": False,
    "email_domains": [],
    "team_size": None,
}
PHASE_DEFAULTS: Mapping[str, Any] = {
    "quota_per_month": None,
    "quota_per_window": None,
    "quota_window_days": None,
    "blind": False,
    "final_submissions": 1,
    "requires_choice": False,
}
# A change: its place, such as `phases.open.closes`, the old value, and the new value.
Change = tuple[str, str, str]


def describe(challenge: Challenge) -> dict[str, Any]:
    """Return a challenge as the content of its definition, with names of files."""
    related = ("reference_sets__versions", "reference_sets__reported", "subsets", "image_list", "constraints")
    splits = challenge.splits.prefetch_related(*related).order_by("name")
    phases = challenge.phases.select_related("main__split").prefetch_related("splits")
    phases = phases.order_by("opens", "name")
    human = {each.baseline_of_id for each in _baselines(challenge)}
    return {
        "challenge": {
            "slug": challenge.slug,
            "title": challenge.title,
            "description": challenge.description,
            "rules": challenge.rules,
            "data": challenge.data,
            "faq": challenge.faq,
            "contact": challenge.contact,
            "pages": challenge.pages,
            "fields": [_describe_field(field) for field in challenge.declared_fields],
            "approval": challenge.approval,
            **_describe_changed(challenge, CHALLENGE_DEFAULTS),
        },
        "splits": [_describe_split(split, human) for split in splits],
        "phases": [describe_phase(phase) for phase in phases],
    }


def _describe_changed(row: Challenge | Phase, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row that differ from their defaults."""
    return {name: value for name, default in defaults.items() if (value := getattr(row, name)) != default}


def _describe_field(field: DeclaredField) -> dict[str, Any]:
    found: dict[str, Any] = {"name": field.name, "required": field.required, "shown": field.shown}
    if field.type != "text":
        found["type"] = field.type
    if field.choices:
        found["choices"] = list(field.choices)
    if field.phase_choices:
        found["phase_choices"] = field.phase_choices
    return found


def _baselines(challenge: Challenge) -> QuerySet[Submission]:
    return Submission.objects.filter(baseline_of__split__challenge=challenge)


def _describe_split(split: Split, human: set[int | None]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": split.name,
        "results": split.results,
        "metrics": split.metrics,
        "sort_by": split.sort_by,
    }
    if split.least_subset != LEAST_SUBSET:
        found["least_subset"] = split.least_subset
    if split.image_url:
        found["image_url"] = split.image_url
    if split.links:
        found["links"] = split.links
    if split.columns:
        found["columns"] = split.columns
    if hasattr(split, "image_list"):
        found["images"] = f"images_{split.name}.json"
    if hasattr(split, "image_archive"):
        found["image_archive"] = name_image_archive(split)
    if hasattr(split, "constraints"):
        found["constraints"] = f"constraints_{split.name}.json"
    if split.subsets.all():
        found["subsets"] = f"subsets_{split.name}.json"
    found["references"] = [_describe_references(entry, human) for entry in _sort_by_name(split)]
    return found


def _sort_by_name(split: Split) -> list[ReferenceSet]:
    return sorted(split.reference_sets.all(), key=lambda entry: entry.name)


def _describe_references(entry: ReferenceSet, human: set[int | None]) -> dict[str, Any]:
    stored = [version.file.name for version in entry.versions.all() if version.number == entry.version]
    ending = "".join(PurePosixPath(str(stored[0])).suffixes) if stored else ".json"
    found: dict[str, Any] = {
        "name": entry.name,
        "file": f"references_{entry.split.name}_{entry.name}{ending}",
        "public": entry.public,
    }
    if entry.part is not None:
        found["partial"] = True
    if entry.pk in human:
        found["human"] = f"human_{entry.split.name}_{entry.name}.json"
    if entry.reported.all():
        found["reported"] = [
            _describe_reported(each) for each in sorted(entry.reported.all(), key=lambda each: each.name)
        ]
    return found


def _describe_reported(reported: Reported) -> dict[str, Any]:
    entry = reported.reference_set
    found: dict[str, Any] = {
        "name": reported.name,
        "title": reported.title,
        "file": f"reported_{entry.split.name}_{entry.name}_{reported.name}.csv",
    }
    if reported.url:
        found["url"] = reported.url
    if reported.ranked:
        found["ranked"] = True
    return found


def describe_phase(phase: Phase) -> dict[str, Any]:
    """Return a phase as the content of its definition."""
    return {
        "name": phase.name,
        "opens": phase.opens,
        "closes": phase.closes,
        "splits": sorted(split.name for split in phase.splits.all()),
        "quota_per_day": phase.quota_per_day,
        "quota_total": phase.quota_total,
        "leaderboard": phase.leaderboard,
        "main": describe_main(phase),
        "captions": sorted(phase.captions),
        "captions_by": phase.captions_by,
        **_describe_changed(phase, PHASE_DEFAULTS),
    }


def describe_main(phase: Phase) -> str:
    """Return the main leaderboard of a phase, such as `test/c5`, or "" for the default."""
    return f"{phase.main.split.name}/{phase.main.name}" if phase.main else ""


def to_toml(challenge: Challenge) -> str:
    """Return a challenge's definition as a `challenge.toml`."""
    return tomli_w.dumps(describe(challenge))


def fingerprint(content: object) -> str:
    """Return a hash of content.

    A client sends back the fingerprint of the content that it edited, to detect concurrent changes.
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def state_of(challenge: Challenge) -> dict[str, str]:
    """Return everything that files can change in a challenge, as texts by place.

    The text of a file contains its size or version and the beginning of a hash.
    """
    found = dict(_flatten(describe(challenge), ""))
    human = dict(_baselines(challenge).values_list("baseline_of_id", "sha256"))
    related = ("reference_sets__versions", "reference_sets__reported", "subsets")
    for split in challenge.splits.prefetch_related(*related):
        place = f"splits.{split.name}"
        listed = f", listed (sha256 {split.image_list.sha256[:12]})" if hasattr(split, "image_list") else ""
        found[f"{place}.images"] = f"{len(split.image_ids):,} ({fingerprint(split.image_ids)[:12]}){listed}"
        if hasattr(split, "image_archive"):
            archive = split.image_archive
            found[f"{place}.image_archive"] = f"{archive.number:,} images (sha256 {archive.sha256[:12]})"
        if hasattr(split, "constraints"):
            found[f"{place}.constraints"] = f"sha256 {split.constraints.sha256[:12]}"
        for subset in split.subsets.all():
            ids = sorted(subset.image_ids, key=str)
            found[f"{place}.subsets.{subset.name}"] = f"{len(ids):,} images ({fingerprint(ids)[:12]})"
        for entry in split.reference_sets.all():
            if entry.part is not None:
                text = f"{len(entry.part):,} ({fingerprint(entry.part)[:12]})"
                found[f"{place}.references.{entry.name}.images"] = text
            if entry.pk in human:
                found[f"{place}.references.{entry.name}.human"] = f"sha256 {human[entry.pk][:12]}"
            for reported in entry.reported.all():
                text = f"{len(reported.rows):,} rows ({fingerprint(reported.rows)[:12]})"
                found[f"{place}.references.{entry.name}.reported.{reported.name}.file"] = text
            for version in entry.versions.all():
                if version.number == entry.version:
                    text = f"version {version.number} (sha256 {version.sha256[:12]})"
                    found[f"{place}.references.{entry.name}.file"] = text
    return found


def _flatten(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if place.endswith(".links"):
        value = [f"{link['text']} ({link['url']})" for link in value]
    named = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    if named and not place.endswith("fields"):
        value = {item["name"]: {k: v for k, v in item.items() if k != "name"} for item in value}
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flatten(item, f"{place}.{key}".lstrip("."))
    elif place.endswith("fields"):
        yield place, ", ".join(map(_format_field, value))
    elif isinstance(value, list):
        yield place, ", ".join(map(str, value))
    else:
        yield place, str(value)


def _format_field(field: dict[str, Any]) -> str:
    about = [field["type"]] if "type" in field else []
    about += [" | ".join(field["choices"])] if "choices" in field else []
    about += ["required"] if field["required"] else []
    about += [] if field["shown"] else ["not shown"]
    return f"{field['name']} ({', '.join(about)})" if about else str(field["name"])


def changes(before: dict[str, str], after: dict[str, str]) -> list[Change]:
    """Return the differences between two states, in the order of the places."""
    places = sorted({**before, **after})
    return [
        (place, before.get(place, ""), after.get(place, ""))
        for place in places
        if before.get(place) != after.get(place)
    ]
