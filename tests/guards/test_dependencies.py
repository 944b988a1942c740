"""What the package needs: the versions that CI installs are allowed, and the lowest ones agree."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.server.processes import PROJECT

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    extra: {canonicalize_name((one := Requirement(text)).name): one for text in texts}
    for extra, texts in DECLARED["optional-dependencies"].items()
}
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", (PROJECT / "constraints.txt").read_text(), re.M)
}


def floor(requirement: Requirement) -> Version:
    (found,) = (Version(one.version) for one in requirement.specifier if one.operator in (">=", "=="))
    return found


def test_what_ci_installs_is_allowed() -> None:
    assert len(PINNED) > 50, "the scan found too little"
    for extra, requirements in EXTRAS.items():
        for name, requirement in requirements.items():
            assert requirement.specifier.contains(PINNED.get(name, str(floor(requirement)))), (extra, name)
    assert set(EXTRAS["server"]) <= set(PINNED)


def test_the_servers_lowest_versions_are_those_of_the_tests() -> None:
    assert {"django", "waitress"} <= set(EXTRAS["server"])
    for name, requirement in EXTRAS["server"].items():
        assert floor(EXTRAS["dev"][name]) == floor(requirement), name
        assert requirement.extras == EXTRAS["dev"][name].extras, name
