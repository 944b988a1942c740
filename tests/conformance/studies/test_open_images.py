"""The published class names of Open Images."""

from capeval.datasets.open_images import load_class_names
from tests.shared_data import shared_data


def test_class_names() -> None:
    names = load_class_names(shared_data("openimages") / "class-descriptions-boxable.csv")
    assert len(names) == 601
    assert names["/m/01g317"] == "Person"
