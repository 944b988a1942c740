"""Allowed imports: layers of the Python packages, dependencies of crates."""

from __future__ import annotations

__all__ = ["CRATES", "LAYERS", "ROOT_LAYER", "SEPARATE", "USERS", "get_layers"]

# Modules and subpackages of each package, lowest layer first. Modules of one layer may import each other.
LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "capeval": (
        (
            "checks",
            "columns",
            "dependencies",
            "errors",
            "files",
            "frames",
            "notebooks",
            "progress",
            "spreadsheets",
        ),
        ("_native", "scene_graphs", "score_types", "types"),
        ("held_out", "tokenization", "formats", "resources", "sampling"),
        ("metrics",),
        ("evaluation", "evaluation_report", "resampling", "significance", "distributed"),
        ("studies", "benchmarks"),
        ("report", "compat", "integrations"),
        ("cli",),
    ),
    "capeval_server": (
        (
            "__init__",
            "cache",
            "conditional",
            "drawing",
            "environment",
            "errors",
            "examples",
            "logs",
            "names",
            "object_store",
            "outages",
            "outgoing",
            "ranges",
            "refusals",
            "serving",
            "staff",
            "stamps",
            "statuses",
        ),
        ("accounts", "challenges", "jobs", "request_limits"),
        ("teams",),
        ("submissions",),
        ("leaderboards", "monitoring"),
        ("organising",),
        ("notices",),
        ("annotation",),
        ("api",),
        ("pages",),
        ("channels", "settings", "urls", "wsgi"),
        ("demo",),
        ("commands",),
        ("__main__",),
    ),
    "capeval_baselines": (
        ("__init__", "boxes", "features", "vocabulary"),
        ("captions", "embeddings", "machines", "updown"),
        ("checkpoints", "ngrams", "search", "word_forms"),
        ("baby_talk", "captioning", "filtering", "generation", "training"),
        ("demonstration",),
        ("commands",),
    ),
}
# Layer of `from capeval import Name`: only the command line may import the package itself.
ROOT_LAYER = {"capeval": "cli"}
# Layers of the package's own files: public names come from everything below the command line.
_SAME_LAYER = {"capeval": {"__init__": "compat", "__main__": "cli"}}
# Parts of a package that may not import each other.
SEPARATE = {"capeval_server": {"api", "pages"}}
# The packages that use a package, which it must never import.
USERS = {
    "capeval": {"capeval_baselines", "capeval_server"},
    "capeval_baselines": {"capeval_server"},
    "capeval_server": {"capeval_baselines"},
}
# The workspace crates that each crate may depend on, by folder.
CRATES: dict[str, set[str]] = {
    "ptb": set(),
    "formats": set(),
    "tables": set(),
    "tokens": {"capeval-ptb"},
    "metrics": {"capeval-tokens"},
    "meteor": {"capeval-ptb", "capeval-tables", "capeval-tokens"},
    "parser": {"capeval-ptb", "capeval-tables"},
    "dependencies": {"capeval-ptb"},
    "lemmas": {"capeval-ptb", "capeval-tables"},
    "spice": {
        "capeval-dependencies",
        "capeval-lemmas",
        "capeval-meteor",
        "capeval-parser",
        "capeval-ptb",
        "capeval-tables",
    },
    "classfiles": {
        "capeval-dependencies",
        "capeval-lemmas",
        "capeval-meteor",
        "capeval-parser",
        "capeval-spice",
        "capeval-tables",
    },
    "python": {
        "capeval-ptb",
        "capeval-formats",
        "capeval-tokens",
        "capeval-metrics",
        "capeval-meteor",
        "capeval-classfiles",
        "capeval-spice",
    },
}


def get_layers(package: str) -> dict[str, int]:
    """Return the number of the layer of each module and subpackage of a package."""
    layers = {name: number for number, names in enumerate(LAYERS[package]) for name in names}
    return layers | {name: layers[other] for name, other in _SAME_LAYER.get(package, {}).items()}
