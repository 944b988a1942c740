"""Source of a release: a clone of the last commit with the project's public addresses filled in.

Run `python -m scripts.release_source build/source`. Package indexes can't resolve relative links, so links
of README files become links to the documentation and the repository. `pyproject.toml` files get project URLs.
Both addresses are read from `CITATION.cff`; without them, the clone stays unchanged.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath

import yaml

__all__ = ["CITATION", "MISSING", "Addresses", "clone", "fill_project", "fill_readme", "read_addresses"]

PROJECT = Path(__file__).parents[1]
CITATION = PROJECT / "CITATION.cff"
ROOTS = (".", "server", "decoding")
"""Folders with a pyproject.toml and a README.md."""
MISSING = "CITATION.cff has no public addresses: add `repository-code` and `url` before a release"
# Links in Markdown and in HTML; the address is one of the two groups.
_LINK = re.compile(r"""(\]\(|\b(?:src|srcset|href)=")([^)"\s#]*)""")
_PICTURES = (".svg", ".webp", ".png")


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Public addresses of the project, without a slash at the end.

    Attributes:
        repository: Address of the repository on GitHub.
        documentation: Address of the documentation.
        version: Version of the release, which has the tag `v` and the version.
    """

    repository: str
    documentation: str
    version: str

    def resolve(self, path: str) -> str:
        """Return the public address of a file of the project."""
        if path.startswith("docs/") and path.endswith(".md"):
            return f"{self.documentation}/{path.removeprefix('docs/').removesuffix('.md')}.html"
        kind = "raw" if path.endswith(_PICTURES) else "blob"
        return f"{self.repository}/{kind}/v{self.version}/{path}"


def read_addresses(citation: str) -> Addresses | None:
    """Return the addresses in the text of CITATION.cff, or None if it has none."""
    fields = yaml.safe_load(citation)
    repository, documentation = (str(fields.get(key, "")).rstrip("/") for key in ("repository-code", "url"))
    if not repository or not documentation:
        return None
    return Addresses(repository=repository, documentation=documentation, version=str(fields["version"]))


def fill_project(text: str, addresses: Addresses) -> str:
    """Return the text of pyproject.toml with project URLs."""
    urls = {
        "Documentation": f"{addresses.documentation}/",
        "Repository": addresses.repository,
        "Changelog": addresses.resolve("docs/project/changelog.md"),
        "Issues": f"{addresses.repository}/issues",
    }
    return f"{text}\n[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in urls.items())


def fill_readme(text: str, addresses: Addresses, root: str = ".") -> str:
    """Return a README with absolute links.

    Args:
        text: Text of the README.
        addresses: Public addresses.
        root: Folder of the README in the project.
    """

    def replace(link: re.Match[str]) -> str:
        start, path = link.groups()
        if not path or re.match(r"[a-z]+:", path):
            return link[0]
        return start + addresses.resolve(normpath(f"{root}/{path}"))

    return _LINK.sub(replace, text)


def clone(folder: Path) -> None:
    """Clone the last commit into a folder, and fill in the addresses.

    Args:
        folder: Folder to create or replace.
    """
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", PROJECT, folder], check=True)  # noqa: S603, S607
    addresses = read_addresses((folder / CITATION.name).read_text(encoding="utf-8"))
    if addresses is None:
        return
    for root in ROOTS:
        for name in ("pyproject.toml", "README.md"):
            path = folder / root / name
            text = path.read_text(encoding="utf-8")
            is_readme = name == "README.md"
            filled = fill_readme(text, addresses, root) if is_readme else fill_project(text, addresses)
            path.write_text(filled, encoding="utf-8")


def main() -> None:
    """Create the source of a release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder to create or replace, such as build/source")
    clone(parser.parse_args().folder.resolve())


if __name__ == "__main__":
    main()
