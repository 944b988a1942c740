"""Golden of all metrics on COCO val2014, with digests of tokens and scores."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from scripts.goldens.commands import succeed
from scripts.goldens.registry import Golden, register

# All images of val2014, with one held-out human caption each; only the first 1,000 for SPICE, which is
# slower.
_IMAGES, _IMAGES_OF_SPICE = 40_504, 1_000
# The last digits can differ between processors and C libraries.
_DECIMALS = 9


def _list_metrics(*, model: bool) -> list[str]:
    """Return the names of metrics that need the SPICE model, or of all others.

    Metrics that need files of the user are left out.
    """
    import capeval.metrics

    return [
        name
        for name, make in capeval.metrics.METRICS.items()
        if ("SPI" in name) == model and not make().missing_options
    ]


def _write_core(folder: Path) -> None:
    _write(folder / "core.txt", _list_metrics(model=False), _IMAGES)


def _write_spice(folder: Path) -> None:
    _write(folder / "spice.txt", _list_metrics(model=True), _IMAGES_OF_SPICE)


def _write_tokens(folder: Path) -> None:
    import capeval

    lines = []
    for split in ("train2014", "val2014"):
        people, machine = _load(split)
        captions = [caption for image, found in people.items() for caption in (*found, *machine[image])]
        tokens = "\n".join(map(" ".join, capeval.tokenize(captions)))
        lines.append(f"{split} {len(captions)} captions {sha256(tokens.encode()).hexdigest()}\n")
    (folder / "tokens.txt").write_text("".join(lines))


def _load(split: str) -> tuple[dict[Any, list[str]], dict[Any, list[str]]]:
    """Return the references and one held-out human caption of each image."""
    import capeval

    with tempfile.TemporaryDirectory(prefix="capeval-goldens-") as folder:
        succeed("data", "sample", folder, "--split", split, "--seed", "0", "--force")
        (references,), (results,) = (
            list(Path(folder).glob(f"*{kind}.json")) for kind in ("references", "results")
        )
        return dict(capeval.load_references(references)), dict(capeval.load_candidates(results))


def _write(path: Path, metrics: list[str], images: int) -> None:
    import capeval

    people, machine = _load("val2014")
    chosen = list(people)[:images]
    scored = {image: people[image] for image in chosen}, {image: machine[image] for image in chosen}
    # Separate groups, since BLEU includes BLEU-1 to BLEU-4 and a report contains each score once.
    groups = ([name for name in metrics if name != "BLEU"], [name for name in metrics if name == "BLEU"])
    lines = [line for group in groups if group for line in _format_lines(capeval.evaluate(*scored, group))]
    path.write_text("".join(lines))


def _format_lines(report: Any) -> Iterator[str]:
    """Yield signatures, and corpus value and per-image digest of each score."""
    for signature in report.signatures.values():
        yield f"{str(signature).rpartition('|')[0]}\n"
    for name, value in report.corpus.items():
        # Adding 0 makes -0 equal to 0.
        scores = (report.per_image[name].round(_DECIMALS) + 0.0).astype("<f8")
        yield f"{name} {value:.{_DECIMALS}f} images:{sha256(scores.tobytes()).hexdigest()[:32]}\n"


def _explain_missing(resource: str) -> str:
    """Return the reason why a resource can't be used here, or ""."""
    for found in json.loads(succeed("resources", "--format", "json")):
        if found["name"].startswith(resource):
            return str(found["missing"] or "")
    return f"{resource} is unknown"


register(Golden(name="tokens", about="tokens of COCO's captions", write=_write_tokens, process="scores"))
register(
    Golden(
        name="scores",
        about="scores of all metrics but SPICE",
        write=_write_core,
        process="scores",
        missing=partial(_explain_missing, "METEOR"),
    )
)
register(
    Golden(
        name="scores_spice",
        about="scores of SPICE",
        write=_write_spice,
        process="scores",
        missing=partial(_explain_missing, "SPICE"),
    )
)
