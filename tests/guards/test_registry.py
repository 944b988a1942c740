"""Every registered metric is documented and compared with something else."""

from pathlib import Path

import pytest

from capeval.metrics import DEFAULT, METRICS

PROJECT = Path(__file__).parents[2]
# The page and the folder of tests of each family of metrics.
HOMES = {
    "BLEU": "bleu",
    "METEOR": "meteor",
    "ROUGE-L": "rouge",
    "ROUGE-N": "rouge",
    "ROUGE-S": "rouge",
    "CIDEr": "cider",
    "CIDEr-D": "cider",
}
FAMILIES = sorted({make().family for make in METRICS.values()})


def test_every_family_has_a_home() -> None:
    assert FAMILIES, "no metric is registered"
    assert set(FAMILIES) == set(HOMES)
    assert set(DEFAULT) <= set(METRICS)


@pytest.mark.parametrize("home", sorted(set(HOMES.values())))
def test_every_metric_is_documented(home: str) -> None:
    page = PROJECT / "docs" / "metrics" / f"{home}.md"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    for family, other in HOMES.items():
        if other == home:
            assert family in text, f"{page.name} does not speak of {family}"


@pytest.mark.parametrize("home", sorted(set(HOMES.values())))
def test_every_metric_has_conformance_tests(home: str) -> None:
    tests = list((PROJECT / "tests" / "conformance" / home).glob("test_*.py"))
    assert tests
    assert all("def test_" in test.read_text(encoding="utf-8") for test in tests)
