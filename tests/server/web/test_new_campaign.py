"""From a folder to a study: the pages that create a campaign from uploaded files."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from capeval_server.annotation.campaigns.creation import make_campaign, make_from_texts
from capeval_server.annotation.models import Campaign
from capeval_server.core.errors import CampaignError, CampaignFilesError
from tests.server.annotation.test_pages import picture
from tests.server.campaigns import STUDY
from tests.server.kit import Someone, zipped
from tests.server.pages import check_page
from tests.server.web.test_organizer_pages import hidden_fields

pytestmark = pytest.mark.django_db

# A hundred would take several seconds.
IMAGE_COUNT = 10
WRITE, RATE = "/new/campaign/from/write-coco/", "/new/campaign/from/m3/"
IMAGES = {f"photos/{number}.jpg": picture(640 + number) for number in range(3)}
CSV = b"photo,words\n0.jpg,A dog runs.\n1.jpg,A cat sleeps.\n2.jpg,A bus.\n"


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


@pytest.fixture
def staff() -> Someone:
    return Someone("staff", is_staff=True)


class Fields(HTMLParser):
    """The values of the fields of a page's form that creates a campaign, and the fields that are visible."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.visible: list[str] = []
        self._folded = 0
        self._select = self._textarea = ""
        self.feed(page[page.index("<h1>") :])

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        name = given.get("name", "")
        self._folded += tag == "details"
        if tag == "select":
            self._select = name
            self.values[name] = ""
        elif tag == "option" and "selected" in given:
            self.values[self._select] = given["value"]
        elif tag == "textarea":
            self._textarea = name
        elif tag == "input" and given.get("type") not in ("file", "checkbox"):
            self.values[name] = given.get("value", "")
        elif tag == "input" and "checked" in given:
            self.values[name] = "on"
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden" and not self._folded:
            self.visible.append(name)

    def handle_endtag(self, tag: str) -> None:
        self._folded -= tag == "details"
        self._textarea = "" if tag == "textarea" else self._textarea

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea] = self.values.get(self._textarea, "") + data


def send(who: Someone, place: str, status: int = 200, **given: Any) -> str:
    """Submit the form of a page, with its initial values and some others; return the answer as text."""
    shown = place if place.startswith("<") else who.client.get(place).content.decode()
    values = {**Fields(shown).values, **given}
    files: dict[str, Any] = {
        name: SimpleUploadedFile(*value) for name, value in values.items() if isinstance(value, tuple)
    }
    files |= {
        name: [SimpleUploadedFile(*each) for each in value]
        for name, value in values.items()
        if isinstance(value, list)
    }
    action = re.search(r'<form method="post" enctype="multipart/form-data" action="([^"]+)"', shown)
    assert action, shown
    sent = who.client.post(html.unescape(action[1]), {**values, **files})
    page = sent.content.decode()
    assert sent.status_code == status, page
    check_page(page, sent.headers["Content-Security-Policy"])
    return page


def create(who: Someone, page: str) -> Campaign:
    """Confirm the preview of a campaign."""
    sent = who.client.post("/new/campaign/apply/", hidden_fields(page), follow=True)
    assert "Created the campaign." in sent.content.decode()
    return Campaign.objects.order_by("-pk")[0]


def test_a_zip_of_images_needs_at_most_six_screens_and_twelve_inputs(staff: Someone) -> None:
    """Click by click, as in a browser. Neither number depends on the number of images."""
    colors = [(number, 255 - number, 90) for number in range(IMAGE_COUNT)]
    images = {}
    for number, color in enumerate(colors):
        out = io.BytesIO()
        Image.new("RGB", (8, 6), color).save(out, "PNG")
        images[f"{number}.png"] = out.getvalue()
    screens, inputs = 0, 0
    for place, link in (("/campaigns/", "/new/campaign/"), ("/new/campaign/", WRITE)):
        assert f'href="{link}"' in staff.client.get(place).content.decode()
        screens, inputs = screens + 1, inputs + 1
    form = staff.client.get(WRITE).content.decode()
    filled: dict[str, Any] = {
        "title": "Street scenes",
        "pictures": ("photos.zip", zipped(images)),
        "answers": "1",
        **STUDY,
    }
    assert filled.keys() <= set(Fields(form).visible)
    page = send(staff, WRITE, **filled)
    screens, inputs = screens + 1, inputs + len(filled) + 1
    assert f"<dt>Items</dt><dd>{IMAGE_COUNT}</dd>" in page
    made = create(staff, page)
    screens, inputs = screens + 1, inputs + 1
    overview = f"/campaigns/{made.slug}/"
    page = staff.client.get(overview).content.decode()
    assert ">Open</button>" in page
    assert 'id="classes"' not in page, "the items have no classes"
    added = staff.client.get(f"{overview}items/add/").content.decode()
    assert "Without it, each image of the zip is an item." in added
    staff.do(f"{overview}state/", state="open")
    screens, inputs = screens + 1, inputs + 1
    made.refresh_from_db()
    assert (made.slug, made.state, made.items.filter(is_check=False).count()) == (
        "street-scenes",
        "open",
        IMAGE_COUNT,
    )
    assert screens <= 6
    assert inputs <= 12
    assert (screens, inputs) == (5, 12)
    # The keys are the names of the images.
    assert set(made.items.filter(is_check=False).values_list("key", flat=True)) == {
        str(number) for number in range(IMAGE_COUNT)
    }


def test_few_settings_are_visible(staff: Someone) -> None:
    visible = {place: Fields(staff.client.get(place).content.decode()).visible for place in (WRITE, RATE)}
    for names in visible.values():
        assert names == ["title", "items", "pictures", "answers", "challenge", *STUDY]


def test_columns_are_assigned_and_nothing_is_uploaded_twice(staff: Someone) -> None:
    files = {"items": ("ours.csv", CSV), "pictures": ("photos.zip", zipped(IMAGES))}
    # An error in the form keeps the files.
    page = send(staff, RATE, 422, **files, title="")
    assert "ours.csv" in page
    assert "photos.zip" in page
    assert "required" not in re.findall(r'<input type="file" name="pictures"[^>]*>', page)[0]
    page = send(staff, page, 422, title="Correct?")
    # The columns have unknown names. The page shows them with the first rows.
    assert "no column for &#x27;caption&#x27; and &#x27;image&#x27;" in page or "no column for" in page
    assert '<th scope="row">line 3</th><td><bdi>1.jpg</bdi></td><td><bdi>A cat sleeps.</bdi></td>' in page
    assert Fields(page).values["part-system"] == "text:ours"
    assigned: dict[str, Any] = {"part-image": "column:photo", "part-caption": "column:words"}
    page = send(staff, page, **assigned)
    assert "Create the campaign correct?" in page
    assert "The first item, as a worker sees it" in page
    assert "A dog runs." in page
    assert "partly correct: about half of it fits" in page
    image = re.search(r'<img src="(/new/campaign/image/[^"]+)"', page)
    assert image
    sent = staff.client.get(html.unescape(image[1]))
    assert (sent.headers["Content-Type"], sent.content[:2]) == ("image/jpeg", b"\xff\xd8")
    # The columns and the settings can still change.
    back = re.findall(r'href="(/new/campaign/[a-z/0-9-]+\?draft=[0-9a-f]+)"', page)
    assert [place.partition("?")[0] for place in back] == ["/new/campaign/columns/", RATE]
    assert Fields(staff.client.get(back[0]).content.decode()).values["part-caption"] == "column:words"
    assert Fields(staff.client.get(back[1]).content.decode()).values["title"] == "Correct?"
    page = send(staff, back[1], title="Right?")
    made = create(staff, page)
    assert made.title == "Right?"
    assert list(made.items.order_by("pk").values_list("key", "payload__caption", "payload__system")) == [
        ("0", "A dog runs.", "ours"),
        ("1", "A cat sleeps.", "ours"),
        ("2", "A bus.", "ours"),
    ]


def test_results_of_two_systems_become_pairs_in_one_step(staff: Someone, tmp_path: Path) -> None:
    results = [
        (
            f"{system}.json",
            json.dumps([{"image_id": n, "caption": f"{system} {n % 2}"} for n in range(3)]).encode(),
        )
        for system in ("up-down", "trigram")
    ]
    place, pictures = "/new/campaign/from/pairwise/", ("photos.zip", zipped(IMAGES))
    form = staff.client.get(place).content.decode()
    assert "multiple" in re.findall(r'<input type="file" name="items"[^>]*>', form)[0]
    assert (
        "multiple"
        not in re.findall(r'<input type="file" name="items"[^>]*>', staff.client.get(RATE).content.decode())[
            0
        ]
    )
    page = send(staff, place, title="Which is better?", items=results, pictures=pictures, **STUDY)
    assert "<dt>Items</dt><dd>3</dd>" in page

    def read_pairs(campaign: Campaign) -> set[tuple[str, ...]]:
        found = campaign.items.values_list("payload", "image__name")
        texts = [{each["first_by"]: each["first"], each["second_by"]: each["second"]} for each, _ in found]
        names = (name for _, name in found)
        return {(each["up-down"], each["trigram"], name) for each, name in zip(texts, names, strict=True)}

    expected = {(f"up-down {n % 2}", f"trigram {n % 2}", f"{n}.jpg") for n in range(3)}
    assert read_pairs(create(staff, page)) == expected
    # By the command line, the same files are named in the definition.
    for name, data in [*results, *((PurePosixPath(name).name, data) for name, data in IMAGES.items())]:
        (tmp_path / name).write_bytes(data)
    text = (
        '[campaign]\nslug = "two"\ntitle = "Two"\nkind = "{}"\nimages = "."\nitems = ["up-down.json", "{}"]\n'
    )
    (tmp_path / "campaign.toml").write_text(text.format("pairwise", "trigram.json"))
    assert read_pairs(make_campaign(None, tmp_path / "campaign.toml")) == expected
    # Problems are errors of the field.
    for others, problem in (
        (
            ("trigram.json", b'[{"image_id": 0, "caption": "a"}]'),
            "captions of the same images (only in one file: '1', '2')",
        ),
        (("up-down.csv", results[1][1]), "different file names (got up-down twice)"),
        (("copy.json", results[0][1]), "all captions of the systems are equal"),
        (("trigram.json", b"{"), "trigram.json"),
    ):
        page = html.unescape(
            send(staff, place, 422, title="A", items=[results[0], others], pictures=pictures, **STUDY)
        )
        assert problem in page
    page = send(staff, place, 422, title="A", items=21 * [results[0]], pictures=pictures, **STUDY)
    assert "at most 20 systems can be compared (got 21 files)" in page
    (tmp_path / "campaign.toml").write_text(text.format("m3", "trigram.json"))
    with pytest.raises(CampaignError, match="task type m3 needs one file of items"):
        make_campaign(None, tmp_path / "campaign.toml")


def test_all_problems_are_shown_with_their_rows(staff: Someone) -> None:
    lines = ["image,caption", "0.jpg,", "9.jpg,A", "1.jpg,B", "1.jpg,C", "2.jpg,D"]
    images = {**IMAGES, "photos/1.jpg": b"no image"}
    files = {"items": ("a.csv", "\n".join(lines).encode()), "pictures": ("photos.zip", zipped(images))}
    page = html.unescape(send(staff, RATE, 422, title="A", **files))
    assert "3 problems." in page
    assert "line 2: 'caption' must not be empty (column 'caption')" in page
    assert "line 3: no image file '9.jpg'; did you mean " in page
    assert "1.jpg: an image must be JPEG" in page
    # Only the wrong files are replaced.
    lines[1:3] = ["0.jpg,A", "2.jpg,A2"]
    page = send(staff, page, 422, items=("b.csv", "\n".join(lines).encode()))
    assert "1 problem." in page
    page = send(staff, page, pictures=("photos.zip", zipped(IMAGES)))
    assert "<dt>Items</dt><dd>5</dd>" in page
    assert create(staff, page).items.count() == 5


def test_a_zip_contains_the_table_too(staff: Someone) -> None:
    coco = {
        "images": [{"id": number + 40, "file_name": f"{number}.jpg"} for number in range(2)],
        "annotations": [{"image_id": 41, "caption": "A cat."}, {"image_id": 40, "caption": "A dog."}],
    }
    files = {
        **IMAGES,
        "photos/theirs.json": json.dumps(coco).encode(),
        "__MACOSX/._0.jpg": b"",
        "readme.txt": b"-",
    }
    page = send(staff, RATE, title="Zip", pictures=("photos.zip", zipped(files)))
    assert "1 image of the zip is in no item" in page
    made = create(staff, page)
    assert list(made.items.order_by("pk").values_list("key", "image__name", "payload__system")) == [
        ("41", "1.jpg", "theirs"),
        ("40", "0.jpg", "theirs"),
    ]
    files["photos/b.csv"] = CSV
    page = send(staff, RATE, 422, title="Two", pictures=("photos.zip", zipped(files)))
    assert "the zip must have at most one file of items" in page
    page = send(staff, RATE, 422, title="None", pictures=("photos.zip", zipped(IMAGES)))
    assert "needs a file of items" in page


def bomb() -> bytes:
    """A zip of one file that declares fewer bytes than it has."""
    data = zipped({"0.jpg": b"0" * 5_000_000})
    return data.replace((5_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))


def damaged() -> bytes:
    data = bytearray(zipped({"0.jpg": picture(640)}))
    data[60:90] = b"\xff" * 30
    return bytes(data)


def many() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(5001):
            archive.writestr(f"{number}.jpg", b"")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04", "must be a valid zip file"),
        (bomb(), "valid zip file"),
        (damaged(), "valid zip file"),
        (many(), "at most 5,000 files"),
        (zipped({"0.jpg": b"0" * 3_000_000}), "at most 2,000,000 bytes"),
        (zipped({"../../0.jpg": b"<svg/>"}), "0.jpg: an image must be JPEG"),
        (zipped({"../../etc/passwd": b"root"}), "no items"),
        (zipped({"a/0.jpg": b"1", "b/0.jpg": b"2"}), "must be unique"),
    ],
)
def test_hostile_zips(staff: Someone, data: bytes, message: str, settings: Any, tmp_path: Path) -> None:
    settings.UNPACKED_BYTES = 2_000_000
    page = html.unescape(send(staff, WRITE, 422, title="A", pictures=("photos.zip", data)))
    assert message in page
    assert not Campaign.objects.exists()
    stored = [path.name for path in (tmp_path / "files").rglob("*") if path.is_file()]
    assert all(name.startswith("campaign") for name in stored), stored


def test_drafts_of_others_are_not_found(staff: Someone) -> None:
    page = send(staff, WRITE, title="Mine", pictures=("photos.zip", zipped(IMAGES)))
    image = re.search(r'<img src="(/new/campaign/image/[^"]+)"', page)
    assert image
    place = html.unescape(image[1])
    other = Someone("other", is_staff=True)
    assert other.client.get(place).status_code == 404
    assert staff.client.get(place.replace("0.jpg", "campaign.toml")).status_code == 404
    sha256 = hidden_fields(page)["sha256"]
    sent = other.client.get(f"/new/campaign/columns/?draft={sha256}", follow=True)
    assert "The upload no longer exists" in sent.content.decode()
    sent = other.client.post("/new/campaign/apply/", hidden_fields(page), follow=True)
    assert "upload it again" in sent.content.decode()
    assert not Campaign.objects.exists()


def test_the_api_reads_the_same_files(staff: Someone) -> None:
    text = '[campaign]\nslug = "api"\ntitle = "A"\nkind = "triplet"\nitems = "items.tsv"\n'
    table = "reference\tcaption_a\tcaption_b\nA dog.\tA hound.\tA cat.\n"
    made = make_from_texts(staff.user, {"campaign.toml": text, "items.tsv": table})
    assert made.items.get().payload == {"reference": "A dog.", "first": "A hound.", "second": "A cat."}
    with pytest.raises(CampaignError, match="no column for 'second'"):
        make_from_texts(staff.user, {"campaign.toml": text, "items.tsv": table.replace("_b", "_x")})


def test_the_command_line_reads_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    for name, data in IMAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "ours.csv").write_bytes(CSV)
    text = '[campaign]\nslug = "{}"\ntitle = "A"\nkind = "{}"\nimages = "photos"\n'
    columns = '[columns]\nimage = "photo"\ncaption = "words"\nsystem = { text = "mine" }\n'
    path = folder / "campaign.toml"
    path.write_text(text.format("rate", "m3") + 'items = "ours.csv"\n' + columns)
    made = make_campaign(None, path)
    assert set(made.items.values_list("payload__system", "image__name")) == {
        ("mine", f"{n}.jpg") for n in range(3)
    }
    path.write_text(text.format("write", "write"))
    assert set(make_campaign(None, path).items.values_list("key", flat=True)) == {"0", "1", "2"}
    (folder / "ours.csv").write_bytes(CSV + b"7.jpg,\n8.jpg,A\n")
    path.write_text(text.format("wrong", "m3") + 'items = "ours.csv"\n' + columns)
    with pytest.raises(
        CampaignFilesError, match=r"ours.csv, line 5: 'caption' must not be empty.*; line 6: no image"
    ):
        make_campaign(None, path)
