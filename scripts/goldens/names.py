"""Names of the project that the goldens depend on. A move of modules changes this file and no other."""

from __future__ import annotations

from pathlib import Path

__all__ = ["APP", "COMMAND", "DISTRIBUTIONS", "ENVIRONMENT", "MODULES", "PROJECT", "SETTINGS"]

PROJECT = Path(__file__).parents[2]
COMMAND = "capeval"
"""The console script."""

DISTRIBUTIONS = {"capeval": "."}
"""The folder of each distribution's pyproject.toml, which maturin builds."""

SETTINGS = "capeval_server.settings"
"""The value of DJANGO_SETTINGS_MODULE."""

APP = "capeval.cli.app:app"
"""The click group with all commands."""

ENVIRONMENT = "CAPEVAL_"
"""The prefix of the environment variables that configure the project."""

# The documented modules: by the name in the goldens, the module of today.
MODULES = {
    "capeval": "capeval",
    "capeval.compat": "capeval.compat",
    "capeval.data": "capeval.types",
    "capeval.datasets.building": "capeval.benchmarks.building",
    "capeval.datasets.coco": "capeval.benchmarks.coco",
    "capeval.datasets.karpathy": "capeval.benchmarks.karpathy",
    "capeval.datasets.nocaps": "capeval.benchmarks.nocaps",
    "capeval.datasets.published": "capeval.benchmarks.published",
    "capeval.datasets.selection": "capeval.benchmarks.choosing",
    "capeval.datasets.versions": "capeval.benchmarks.versions",
    "capeval.distributed": "capeval.distributed",
    "capeval.errors": "capeval.errors",
    "capeval.formats": "capeval.formats",
    "capeval.formats.constraints": "capeval.formats.constraints",
    "capeval.formats.flickr8k": "capeval.formats.flickr8k",
    "capeval.formats.human_scores": "capeval.formats.human_scores",
    "capeval.formats.judgements": "capeval.formats.judgements",
    "capeval.formats.objects": "capeval.formats.objects",
    "capeval.formats.open_images": "capeval.formats.open_images",
    "capeval.formats.pascal50s": "capeval.formats.pascal50s",
    "capeval.formats.ratings": "capeval.formats.ratings",
    "capeval.formats.word_classes": "capeval.formats.word_classes",
    "capeval.formats.word_scores": "capeval.formats.word_scores",
    "capeval.metrics": "capeval.metrics",
    "capeval.report": "capeval.report",
    "capeval.scene_graphs": "capeval.scene_graphs",
    "capeval.scoring": "capeval.evaluation",
    "capeval.significance": "capeval.significance",
    "capeval.studies.bradley_terry": "capeval.studies.bradley_terry",
    "capeval.studies.consensus": "capeval.studies.consensus",
    "capeval.studies.correlation": "capeval.studies.correlation",
    "capeval.studies.diversity": "capeval.studies.diversity",
    "capeval.studies.domains": "capeval.studies.domains",
    "capeval.studies.effort": "capeval.studies.effort",
    "capeval.studies.gaming": "capeval.studies.gaming",
    "capeval.studies.human": "capeval.studies.human",
    "capeval.studies.image_diversity": "capeval.studies.image_diversity",
    "capeval.studies.judging": "capeval.studies.judging",
    "capeval.studies.next_pairs": "capeval.studies.next_pairs",
    "capeval.studies.protocol": "capeval.studies.protocol",
    "capeval.studies.ranking": "capeval.studies.ranking",
    "capeval.studies.system_correlation": "capeval.studies.system_correlation",
    "capeval.studies.votes": "capeval.studies.votes",
    "capeval.studies.wins": "capeval.studies.wins",
    "capeval.studies.word_agreement": "capeval.studies.word_agreement",
    "capeval.studies.worker_models": "capeval.studies.worker_models",
    "capeval.studies.workers": "capeval.studies.workers",
    "capeval_decoding.boxes": "capeval_baselines.boxes",
    "capeval_decoding.captions": "capeval_baselines.captions",
    "capeval_decoding.demonstration": "capeval_baselines.demonstration",
    "capeval_decoding.embeddings": "capeval_baselines.embeddings",
    "capeval_decoding.features": "capeval_baselines.features",
    "capeval_decoding.filtering": "capeval_baselines.filtering",
    "capeval_decoding.machines": "capeval_baselines.machines",
    "capeval_decoding.ngrams": "capeval_baselines.ngrams",
    "capeval_decoding.search": "capeval_baselines.search",
    "capeval_decoding.vocabulary": "capeval_baselines.vocabulary",
    "capeval_decoding.word_forms": "capeval_baselines.word_forms",
}
