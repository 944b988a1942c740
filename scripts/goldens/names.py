"""Names in the project that the goldens depend on.

If modules move, only this file of the goldens must change.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["APP", "COMMAND", "DISTRIBUTIONS", "ENVIRONMENT", "MODULES", "PROJECT", "SETTINGS"]

PROJECT = Path(__file__).parents[2]
COMMAND = "capeval"
"""Name of the console script."""

DISTRIBUTIONS = {
    "capeval": ".",
    "capeval-server": "server",
    "capeval-decoding": "decoding",
}
"""Folder of pyproject.toml by distribution."""

SETTINGS = "capeval_server.config.settings"
"""Value of DJANGO_SETTINGS_MODULE."""

APP = "capeval.cli.app:app"
"""Click group with all commands."""

ENVIRONMENT = "CAPEVAL_"
"""Prefix of the environment variables that configure the project."""

# Documented modules: current module by name in the goldens.
MODULES = {
    "capeval": "capeval",
    "capeval.compat": "capeval.compat",
    "capeval.data": "capeval.data",
    "capeval.datasets.building": "capeval.datasets.building",
    "capeval.datasets.coco": "capeval.datasets.coco",
    "capeval.datasets.karpathy": "capeval.datasets.karpathy",
    "capeval.datasets.nocaps": "capeval.datasets.nocaps",
    "capeval.datasets.published": "capeval.datasets.published",
    "capeval.datasets.selection": "capeval.datasets.selection",
    "capeval.datasets.versions": "capeval.datasets.versions",
    "capeval.distributed": "capeval.distributed",
    "capeval.errors": "capeval.errors",
    "capeval.formats": "capeval.formats",
    "capeval.formats.constraints": "capeval.formats.constraints",
    "capeval.formats.flickr8k": "capeval.datasets.flickr8k",
    "capeval.formats.human_scores": "capeval.formats.judgments.human_scores",
    "capeval.formats.judgements": "capeval.formats.judgments.plans",
    "capeval.formats.objects": "capeval.datasets.coco_objects",
    "capeval.formats.open_images": "capeval.datasets.open_images",
    "capeval.formats.pascal50s": "capeval.datasets.pascal50s",
    "capeval.formats.ratings": "capeval.formats.judgments.ratings",
    "capeval.formats.word_classes": "capeval.formats.word_classes",
    "capeval.formats.word_scores": "capeval.formats.word_scores",
    "capeval.metrics": "capeval.metrics",
    "capeval.report": "capeval.report",
    "capeval.scene_graphs": "capeval.metrics.scene_graphs",
    "capeval.scoring": "capeval.scoring",
    "capeval.significance": "capeval.scoring.significance",
    "capeval.studies.bradley_terry": "capeval.studies.judging.bradley_terry",
    "capeval.studies.consensus": "capeval.studies.consensus",
    "capeval.studies.correlation": "capeval.studies.correlation",
    "capeval.studies.diversity": "capeval.studies.diversity",
    "capeval.studies.domains": "capeval.studies.domains",
    "capeval.studies.effort": "capeval.studies.effort",
    "capeval.studies.gaming": "capeval.studies.gaming",
    "capeval.studies.human": "capeval.studies.human",
    "capeval.studies.image_diversity": "capeval.studies.diversity.images",
    "capeval.studies.judging": "capeval.studies.judging",
    "capeval.studies.next_pairs": "capeval.studies.judging.next_pairs",
    "capeval.studies.protocol": "capeval.studies.plan",
    "capeval.studies.ranking": "capeval.studies.ranking",
    "capeval.studies.system_correlation": "capeval.studies.correlation.systems",
    "capeval.studies.votes": "capeval.studies.votes",
    "capeval.studies.wins": "capeval.studies.judging.wins",
    "capeval.studies.word_agreement": "capeval.studies.words",
    "capeval.studies.worker_models": "capeval.studies.judging.worker_models",
    "capeval.studies.workers": "capeval.studies.judging.workers",
    "capeval_decoding.boxes": "capeval_decoding.boxes",
    "capeval_decoding.captions": "capeval_decoding.captions",
    "capeval_decoding.demonstration": "capeval_decoding.demonstration",
    "capeval_decoding.embeddings": "capeval_decoding.baselines.embeddings",
    "capeval_decoding.features": "capeval_decoding.baselines.features",
    "capeval_decoding.filtering": "capeval_decoding.constraint_filter",
    "capeval_decoding.machines": "capeval_decoding.state_machines",
    "capeval_decoding.ngrams": "capeval_decoding.trigrams",
    "capeval_decoding.search": "capeval_decoding.search",
    "capeval_decoding.vocabulary": "capeval_decoding.vocabulary",
    "capeval_decoding.word_forms": "capeval_decoding.word_forms",
}
