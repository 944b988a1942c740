"""Allowed imports: layers of the Python packages, dependencies of crates."""

from __future__ import annotations

from fnmatch import fnmatchcase

__all__ = ["CRATES", "LAYERS", "SEPARATE", "USERS", "find_folder", "find_layer"]

# Folders and modules of each package, lowest layer first. Modules of one layer may import each other. The
# longest pattern that matches a module determines its layer. `__init__` is the `__init__.py` of the package.
LAYERS: dict[str, tuple[str, ...]] = {
    "capeval": (
        "_native errors",
        "_internal",
        "data",
        "formats tokenizers",
        "resources",
        "metrics",
        "scoring",
        "datasets distributed",
        "report",
        "studies",
        "studies.*.report studies.*.*_report",
        "__init__ compat integrations",
        "cli.toolkit",
        "cli.commands studies.*.command",
        "__main__ cli toolkit",
    ),
    "capeval_server": (
        "__init__ core examples",
        "challenges jobs",
        "accounts",
        "http",
        "teams",
        "submissions",
        "audit",
        "leaderboards",
        "hosting",
        "notifications",
        "annotation.models",
        "annotation.task_types annotation.text_rules annotation.core",
        "annotation.workers",
        "annotation.responses",
        "annotation.review",
        "annotation.campaigns",
        "annotation.releases",
        "annotation",
        "ops",
        "api web",
        "config",
        "commands",
        "__main__",
    ),
    "capeval_decoding": (
        "__init__",
        "boxes captions state_machines trigrams vocabulary word_forms",
        "constraint_filter search",
        "demonstration generation",
        "baselines",
        "commands",
    ),
}
# Packages of one layer that may not import each other.
SEPARATE = {("capeval_server.api", "capeval_server.web")}
# The packages that use each package; it must never import them.
USERS = {
    "capeval": {"capeval_decoding", "capeval_server"},
    "capeval_decoding": {"capeval_server"},
    "capeval_server": {"capeval_decoding"},
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


def find_folder(module: str) -> str | None:
    """Return the longest layer pattern that matches a module, or None."""
    package, _, name = module.partition(".")
    patterns = " ".join(LAYERS.get(package, ())).split()
    found = [
        each for each in patterns if fnmatchcase(name or "__init__", each) or fnmatchcase(name, f"{each}.*")
    ]
    return max(found, key=len, default=None)


def find_layer(module: str) -> int | None:
    """Return the layer of a module, counted from 0 for the lowest, or None."""
    folder = find_folder(module)
    layers = LAYERS.get(module.partition(".")[0], ())
    return next((number for number, folders in enumerate(layers) if folder in folders.split()), None)
