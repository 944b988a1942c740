"""Generator of THIRD-PARTY.txt: linked crates and their licenses.

Run `python scripts/third_party.py` after a change of Cargo.lock.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
NOTICE = PROJECT / "THIRD-PARTY.txt"
UNICODE = PROJECT / "scripts" / "licenses" / "Unicode-3.0.txt"
PLATFORMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-gnu",
    "x86_64-pc-windows-msvc",
)
# Licenses that require only a notice. Apache-2.0 is preferred, since its text is already in LICENSE.
ALLOWED = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "Unicode-3.0")
_FILES = re.compile(r"(licen[sc]e|copying|unlicense)", re.IGNORECASE)
_RUST = """\
Rust's standard library, Copyright The Rust Project Developers (https://thanks.rust-lang.org), and the crates
in it are linked in too, under the Apache License, Version 2.0. Its tables of characters, and those of
regex-syntax, are made from data of the Unicode Consortium, Copyright 1991-2024 Unicode, Inc., under the
Unicode License v3:

"""
_HEAD = """\
The native module of capeval is made of capeval's own code and of the crates below. Those that offer the
Apache License, Version 2.0, are used under it: its text is in LICENSE. The texts of the other licenses follow
the list.
"""


@dataclass(frozen=True, kw_only=True)
class Crate:
    """A crate linked into the native module, with license expression and folder."""

    name: str
    version: str
    expression: str
    folder: Path

    @property
    def license(self) -> str:
        """License under which the crate is used.

        Raises:
            SystemExit: None of the crate's licenses is allowed.
        """
        parts = self.expression.replace("/", " OR ").split(" AND ")
        chosen = [
            next((each for each in ALLOWED if each in re.split(r"[\s()]+", part)), None) for part in parts
        ]
        if None in chosen:
            refused = f"{self.name} {self.version} has a license that is not allowed"
            raise SystemExit(f"{refused}: {self.expression}")
        return " AND ".join(each for each in dict.fromkeys(chosen) if each is not None)

    def texts(self) -> Iterator[str]:
        """Yield the texts of the crate's licenses, except for Apache-2.0.

        Raises:
            SystemExit: The crate does not include its license text.
        """
        files = sorted(path for path in self.folder.iterdir() if path.is_file() and _FILES.match(path.name))
        for name in self.license.split(" AND "):
            if name == "Apache-2.0":
                continue
            named = [path for path in files if name.partition("-")[0].lower() in path.name.lower()]
            if not named and not files:
                raise SystemExit(f"{self.name} {self.version} does not include the text of its license")
            for path in named or files[:1]:
                yield path.read_text(encoding="utf-8").strip()


def linked() -> list[Crate]:
    """Return the crates linked into the native module, sorted by name."""
    crates: dict[tuple[str, str], Crate] = {}
    for platform in PLATFORMS:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", platform]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True)  # noqa: S603
        for package in _list_linked(json.loads(done.stdout)):
            crates[package["name"], package["version"]] = Crate(
                name=package["name"],
                version=package["version"],
                expression=package["license"] or "none",
                folder=Path(package["manifest_path"]).parent,
            )
    return [crates[key] for key in sorted(crates)]


def _list_linked(metadata: dict[str, Any]) -> Iterator[dict[str, Any]]:
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [one for one, package in packages.items() if package["name"] == "capeval-python"]
    seen = set(waiting)
    while waiting:
        one = waiting.pop()
        # Procedural macros run at build time, and are not linked.
        if any("proc-macro" in target["kind"] for target in packages[one]["targets"]):
            continue
        if packages[one]["source"] is not None:
            yield packages[one]
        for needed in nodes[one]["deps"]:
            if needed["pkg"] not in seen and any(kind["kind"] is None for kind in needed["dep_kinds"]):
                seen.add(needed["pkg"])
                waiting.append(needed["pkg"])


def notice(crates: list[Crate]) -> str:
    """Return the text of the notice."""
    rows = "".join(f"{crate.name} {crate.version}: {crate.expression}\n" for crate in crates)
    parts = [_HEAD, rows, _RUST + UNICODE.read_text(encoding="utf-8")]
    for crate in crates:
        for text in crate.texts():
            title = f"{crate.name} {crate.version}, under {crate.license}"
            parts.append(f"{title}\n{'-' * len(title)}\n\n{text}\n")
    return "\n".join(parts)


def main() -> None:
    """Write the notice."""
    crates = linked()
    NOTICE.write_text(notice(crates), encoding="utf-8")
    print(f"{NOTICE.name}: {len(crates)} crates")  # noqa: T201


if __name__ == "__main__":
    main()
