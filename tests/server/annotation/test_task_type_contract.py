"""The contract of task types: a user goes with each of them from a form to the files of a study.

The task types are those of capeval and three of other packages, one for each result: the example of
`docs/server/task-types.md`, and two that are defined here.
"""

from __future__ import annotations

import html
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from capeval.cli.app import app
from capeval.errors import CapevalWarning, OptionError
from capeval.formats.judgments.human_scores import load_human_scores
from capeval.toolkit import PluginGroup
from capeval_server.accounts.models import Token
from capeval_server.annotation.models import Assignment, Campaign
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TASKS, RatingResult, TaskType
from capeval_server.annotation.task_types.base import GROUP, template_text
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge
from capeval_server.commands import annotation as commands
from tests.server.annotation.test_pages import picture
from tests.server.campaigns import STUDY, STUDY_LINES
from tests.server.kit import Someone, zipped
from tests.server.pages import check_page
from tests.server.web.test_organizer_pages import hidden_fields

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).parents[3] / "docs" / "server" / "task-types.md"
OWN = list(TASKS)
ITEMS = 8
TEXT = "# A text\n\nRead."
WORDS = ("near", "behind", "past", "without", "beside", "towards")
FUNNIER = """
from pathlib import Path
from capeval_server.annotation.task_types import ChoiceQuestion
from capeval_server.annotation.task_types.pairwise import PairwiseTask

class FunnierTask(PairwiseTask):
    name = "funnier"
    title = "Choose the funnier sentence"
    needs_image = False
    texts = ("funnier",)
    texts_folder = Path(__file__).parent
    choices = {"choice": ChoiceQuestion(label="Which is funnier?", labels={
        "left": "The first", "right": "The second", "equal": "Both", "neither": "Neither"})}

    def answer(self, payload, raw, *, mirrored):
        stored = super().answer(payload, raw, mirrored=mirrored)
        return {"choice": "equal"} if stored["choice"] == "neither" else stored
"""
HEADLINES = """
from pathlib import Path
from capeval_server.annotation.task_types.write import WriteTask

class HeadlineTask(WriteTask):
    name = "headline"
    title = "Write headlines"
    texts = ("headline",)
    texts_folder = Path(__file__).parent
    text_rules = {}
"""


def write_package(folder: Path, module: str, source: str, entry: str, text: str = TEXT) -> None:
    """Write a distribution as pip installs one: a package with its texts, and its metadata."""
    name = entry.partition(" = ")[0]
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(source)
    (folder / module / f"{name}.md").write_text(text)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{entry}\n")


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the registry load the installed task types again, and restore it after the test."""
    for name in ("_values", "_names"):
        own = {each: found for each, found in getattr(TASKS, name).items() if each in OWN}
        monkeypatch.setattr(TASKS, name, own)
    monkeypatch.setattr(TASKS, "_plugins", PluginGroup(GROUP, TASKS._plugins._adopt))


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install three distributions with task types."""
    folder = tmp_path / "site"
    folder.mkdir()
    page = PAGE.read_text(encoding="utf-8")
    source, text, toml = (
        re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
        for language in ("py", "md", "toml")
    )
    entry = toml.splitlines()[1].replace('"', "")
    write_package(folder, "capeval_grammar", source, entry, text)
    write_package(folder, "capeval_funnier", FUNNIER, "funnier = capeval_funnier:FunnierTask")
    write_package(folder, "capeval_headline", HEADLINES, "headline = capeval_headline:HeadlineTask")
    monkeypatch.syspath_prepend(str(folder))
    forget_plugins(monkeypatch)
    yield folder
    for module in [name for name in sys.modules if name.startswith("capeval_") and _is_of(name, folder)]:
        del sys.modules[module]
    invalidate_caches()


def _is_of(module: str, folder: Path) -> bool:
    return (getattr(sys.modules[module], "__file__", None) or "").startswith(str(folder))


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


class Visitor:
    """A browser that fails on a page that is not as all pages must be."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def see(self, path: str, *shown: str, status: int = 200) -> str:
        sent = self.client.get(path, follow=True)
        assert sent.status_code == status, path
        check_page(sent.content.decode(), sent.headers["Content-Security-Policy"])
        text = html.unescape(sent.content.decode())
        for each in shown:
            assert each in text, (path, each)
        return text

    def load(self, path: str) -> dict[str, bytes]:
        """Return the files of a zip."""
        sent = self.client.get(path)
        assert sent.status_code == 200, path
        with zipfile.ZipFile(io.BytesIO(sent.getvalue())) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def send(self, path: str, form: dict[str, Any], shown: str) -> str:
        sent = self.client.post(path, form, follow=True)
        text = html.unescape(sent.content.decode())
        assert sent.status_code == 200, (path, re.findall(r'class="errorlist"[^>]*>(.*?)</ul>', text))
        assert shown in text, (path, shown)
        return text


def example_items(task: TaskType) -> list[dict[str, Any]]:
    """Return items like the one that the form of new campaigns shows; of two systems, if these are rated."""
    found: list[dict[str, Any]] = []
    for image in range(ITEMS // 2):
        for system in ("ours", "theirs"):
            number = len(found)
            name = {"key": str(number), "group": str(image if rated_caption(task) else number)}
            picture_name = {"image": f"{name['group']}.jpg"} if task.needs_image else {}
            found.append({**task.example_item(), **name, **picture_name, **rated_by(task, system)})
    return found


def rated_caption(task: TaskType) -> str:
    """Return the caption that the example rates; empty if answers are no ratings."""
    result = task.result
    return str(task.payload(task.example)[result.caption]) if isinstance(result, RatingResult) else ""


def rated_by(task: TaskType, system: str) -> dict[str, str]:
    """Return the parts of an item that name its system, with a caption of its own."""
    caption = rated_caption(task)
    if not caption:
        return {}
    texts = {name: f"{caption} Says {system}." for name, text in task.example.items() if text == caption}
    return {"system": system, **texts}


def json_lines(items: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(item)}\n" for item in items)


def raw_answers(task: TaskType, number: int) -> dict[str, Any]:
    """Return valid answers that differ: other choices, or another sentence of about the same words."""
    if task.written:
        words = str(task.example_answer()[task.written]).rstrip(".")
        return {task.written: f"{words} {WORDS[number % len(WORDS)]} a house."}
    return {
        name: list(question.labels)[number % len(question.labels)] for name, question in task.choices.items()
    }


def create_by_form(manager: Visitor, task: TaskType, challenge: Challenge) -> Campaign:
    """Create a campaign with the form and its initial values, after its preview."""
    manager.see(f"/new/campaign/?challenge={challenge.slug}", task.title, *task.texts)
    place = f"/new/campaign/from/{task.texts[0]}/?challenge={challenge.slug}"
    manager.see(place, task.title)
    form = manager.client.get(place).context["form"]
    given = {name: form[name].value() for name in form.fields}
    images = {f"{number}.jpg": picture(640 + number) for number in range(ITEMS)}
    given |= {
        "title": "Contract",
        "slug": "contract",
        "answers": 2,
        **STUDY,
        "items": SimpleUploadedFile("items.jsonl", json_lines(example_items(task)).encode()),
        "pictures": SimpleUploadedFile("images.zip", zipped(images)),
        "quiz": "",
    }
    filled = {name: value for name, value in given.items() if value is not None and value is not False}
    shown = manager.send(place, filled, task.title)
    manager.send("/new/campaign/apply/", hidden_fields(shown), "Created the campaign.")
    return Campaign.objects.get(slug="contract")


def definition(task: TaskType, slug: str, images: str = "") -> str:
    lines = ["[campaign]", f'slug = "{slug}"', 'title = "Contract"', f'kind = "{task.name}"']
    return "\n".join([*lines, images, 'items = "items.jsonl"', "[settings]", STUDY_LINES])


def create_by_api(task: TaskType) -> None:
    """Create a campaign through the API, which accepts no images (forms and commands do)."""
    token = Token.issue(Someone("programmer", is_staff=True).user.pk, "a program", "organize")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    files = {
        "campaign.toml": definition(task, "by-api"),
        "items.jsonl": json_lines(example_items(task)),
    }
    sent = client.post("/api/campaigns", {"files": files}, "application/json")
    assert sent.status_code == (422 if task.needs_image else 201), sent.content
    if task.needs_image:
        assert "has no image '0.jpg'" in sent.json()["detail"]
    else:
        assert sent.json()["settings"]["answers"] == task.answers


def create_by_command(task: TaskType, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Make a campaign from files, with images in a folder."""
    (folder / "images").mkdir(parents=True)
    for number in range(ITEMS if task.needs_image else 0):
        (folder / "images" / f"{number}.jpg").write_bytes(picture(640 + number))
    images = 'images = "images"' if task.needs_image else ""
    (folder / "campaign.toml").write_text(definition(task, "by-command", images))
    (folder / "items.jsonl").write_text(json_lines(example_items(task)))
    commands.create(folder / "campaign.toml")
    assert capsys.readouterr().out == f"by-command: created as a draft; items: {ITEMS}\n"
    commands.state("by-command", "open")
    commands.status("by-command")
    assert "open" in capsys.readouterr().out


def answer_by_pages(task: TaskType, campaign: Campaign) -> None:
    """Answer all items as a worker in a browser does."""
    worker = Visitor(Client())
    (token,) = enrollment.invite(None, campaign, 1)
    worker.see(f"/annotate/contract/enter/{token}/")
    worker.send("/annotate/contract/agree/", {"texts": "1"}, "Contract")
    while held := list(Assignment.objects.filter(state="held").order_by("place")):
        page = worker.see("/annotate/contract/")
        shown = task.shown(held[0].item.payload, mirrored=held[0].mirrored)
        parts = [part for value in shown.values() for part in (value if isinstance(value, list) else [value])]
        questions = [question.label for question in task.choices.values()]
        for text in (*parts, *questions):
            assert text in page, text
        for one in held:
            answer = raw_answers(task, int(one.item.key))
            worker.send(f"/annotate/contract/{one.lease}/answer/", answer, "Your answer is stored.")
        worker.see("/annotate/contract/")


def answer_by_api(task: TaskType, campaign: Campaign) -> None:
    """Answer all items as a worker's program does."""
    (token,) = enrollment.invite(None, campaign, 1)
    client = Client(headers={"Authorization": f"Bearer {token}"})

    def ask(path: str, content: dict[str, Any]) -> Any:
        sent = client.post(f"/api/annotate/contract/{path}", content, "application/json")
        assert sent.status_code == 200, sent.content
        return sent.json()

    ask("agree", {"texts": 1})
    number = 0
    while items := ask("next", {})["items"]:
        for item in items:
            number += 1
            answer = raw_answers(task, number if task.written else 0)
            sent = {"answer": answer, "key": item["lease"], "events": {"seconds": 9}}
            assert ask(f"items/{item['lease']}/answer", sent)["outcome"] == "stored"
    assert number == ITEMS


def review(manager: Visitor, task: TaskType, campaign: Campaign) -> None:
    """Accept all answers that are drawn for a review."""
    waiting = list(moderation.list_review_queue(campaign))
    assert bool(waiting) == task.reviewed
    page = manager.see("/campaigns/contract/reviews/")
    for response in waiting:
        if task.written:
            assert str(response.answer[task.written]) in page
        form = {f"r{response.pk}-verdict": "fine"}
        page = manager.send(f"/campaigns/contract/reviews/{response.pk}/", form, "Accepted the answer.")
    # Other answers are listed, and judged by checks.
    assert ("No answers to review." if task.reviewed else "match this filter.") in page
    assert not list(audit(campaign))


def look_around(manager: Visitor, task: TaskType) -> None:
    """Open each page of managers."""
    manager.see("/campaigns/contract/", task.title)
    for place in ("results", "agreement", "items", "workers", "plan", "releases"):
        manager.see(f"/campaigns/contract/{place}/", "Contract")
    agreement = manager.see("/campaigns/contract/agreement/")
    plan = manager.see("/campaigns/contract/plan/")
    assert ("Images with too few captions" in agreement) == (not task.choices)
    yes = " or ".join(task.result.yes)
    assert (f"for which most answers are {yes}." in plan) == bool(yes)


def frozen_files(manager: Visitor) -> dict[str, bytes]:
    """Freeze and verify a release, and return its files."""
    page = "/campaigns/contract/releases/"
    manager.send(page, {"name": "1.0", "seed": 0}, f"Froze the release 1.0 with {2 * ITEMS} answers.")
    manager.send(f"{page}1.0/verify/", {}, "files are unchanged.")
    return manager.load(f"{page}1.0/files.zip")


def capeval(*arguments: object) -> str:
    """Return the output of a command."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.stdout


def study_captions(folder: Path) -> None:
    """Score the frozen captions of each image against all of them."""
    (references,) = folder.glob("*/captions_all.json")
    captions = {row["image_id"]: row["caption"] for row in json.loads(references.read_bytes())["annotations"]}
    results = folder / "results.json"
    rows = [{"image_id": image, "caption": caption} for image, caption in captions.items()]
    results.write_text(json.dumps(rows))
    assert len(rows) == ITEMS
    capeval("check", results, "--references", references)
    assert re.search(r"results( +1\.000){4}", capeval("score", references, results, "--metrics", "BLEU"))


def study_ratings(task: TaskType, folder: Path) -> None:
    """Correlate metrics with the ratings of each question."""
    assert isinstance(task.result, RatingResult)
    scores = load_human_scores(folder / "human.csv")
    questions = [question.name for question in task.result.questions]
    assert list(dict.fromkeys(score.question for score in scores)) == questions
    assert {score.system for score in scores} == {"ours", "theirs"}
    assert {(score.images, score.votes, score.workers) for score in scores} == {(ITEMS // 2, ITEMS, 2)}
    references = folder / "references.json"
    images = {item["image"] if task.needs_image else item["group"] for item in example_items(task)}
    texts = {image: [f"{rated_caption(task)} Says ours in {image}."] for image in sorted(images)}
    references.write_text(json.dumps(texts))
    for name in questions:
        ratings = folder / f"ratings-{name.lower()}.csv"
        assert ratings.read_text().startswith("image_id,caption,rating_1,rating_2,system\n")
        more = ("--metrics", "BLEU", "--samples", 20)
        assert "BLEU-1" in capeval("study", "correlation", references, ratings, *more)


def study_votes(folder: Path) -> None:
    """Count the votes on the plan of the campaign."""
    pairs = [] if (folder / "triplets.csv").exists() else ["--pairwise"]
    (votes,) = folder.glob("*votes.csv")
    assert "Agreement" in capeval("study", "votes", folder, votes, *pairs)


def study_files(task: TaskType, files: dict[str, bytes], folder: Path) -> None:
    """Give the files of a release to the study that its result is for."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (release,) = (path for path in folder.iterdir() if path.is_dir())
    if not task.result.judges_systems:
        study_captions(release)
    elif isinstance(task.result, RatingResult):
        study_ratings(task, release)
    else:
        study_votes(release)


def look_at_results(manager: Visitor, task: TaskType, files: dict[str, bytes]) -> None:
    """Download the answers that count now, and open the challenge's page of human judgments."""
    shown = [
        rated.question
        for rated in (task.result.rated if isinstance(task.result, RatingResult) else ())
        if not rated.shown_with
    ]
    if task.result.judges_systems:
        now = manager.load("/campaigns/contract/results.zip")
        frozen = {Path(name).name: content for name, content in files.items()}
        assert {name: frozen[name] for name in now if name != "human.csv"} == {
            name: content for name, content in now.items() if name != "human.csv"
        }
    else:
        manager.see("/campaigns/contract/results.zip", status=404)
    texts = [text for question in shown for text in (question.name, question.measures[1:])]
    manager.see("/small/judgments/", *texts, status=200 if shown else 404)


@pytest.mark.parametrize("kind", [*OWN, "grammar", "funnier", "headline"])
def test_a_campaign_from_the_form_to_a_study(
    kind: str, challenge: Challenge, olga: Someone, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, manager = TASKS[kind], Visitor(olga.client)
    campaign = create_by_form(manager, task, challenge)
    create_by_api(task)
    create_by_command(task, tmp_path / "campaign", capsys)
    manager.send("/campaigns/contract/state/", {"state": "open"}, task.title)
    answer_by_pages(task, campaign)
    answer_by_api(task, campaign)
    review(manager, task, campaign)
    look_around(manager, task)
    files = frozen_files(manager)
    study_files(task, files, tmp_path / "release")
    look_at_results(manager, task, files)


def test_texts_come_from_the_package() -> None:
    assert template_text("grammar").startswith("# Is the grammar of this sentence correct?")
    assert TASKS["grammar"].title == "Judge the grammar"


DECLARED = """
from pathlib import Path
from capeval_server.annotation.task_types import OneQuestion, PairVotes, register

class BrokenTask(OneQuestion):
    name, title, answers, lease_seconds, needs_image = "broken", "Broken", 1, 60, False
    texts, texts_folder, example, result = ("broken",), Path(__file__).parent, {}, PairVotes()
    def payload(self, raw): return {}
    def shown(self, payload, *, mirrored): return {}
"""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("class Other: pass", "AttributeError: module 'capeval_broken' has no attribute 'BrokenTask'"),
        ("class BrokenTask: pass", "BrokenTask.> must be a subclass of TaskType"),
        (DECLARED.replace(", result =", ", other ="), "BrokenTask must have the attribute 'result'"),
        (DECLARED.replace("def shown", "def other"), "abstract method '?shown"),
        (DECLARED.replace('("broken",)', '("lost",)'), "missing text 'lost' of 'broken': no file .*lost.md"),
        (
            DECLARED.replace('"broken", "Broken"', '"write", "Broken"'),
            "duplicate .* name .'write' from capeval-broken, 'write' from capeval_server",
        ),
        (
            DECLARED.replace('("broken",)', '("triplet",)'),
            "the name 'triplet' of a text of 'broken' is taken by 'triplet'",
        ),
    ],
)
@pytest.mark.filterwarnings("always:capeval-broken")
def test_errors_of_packages_name_them(
    packages: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    write_package(packages, "capeval_broken", source, "broken = capeval_broken:BrokenTask")
    invalidate_caches()
    forget_plugins(monkeypatch)
    if "duplicate" in message:
        with pytest.raises(OptionError, match=message):
            list(TASKS)
    else:
        with pytest.warns(CapevalWarning, match=f"capeval-broken: plug-in 'broken' .*{message}"):
            assert "broken" not in list(TASKS)
        # Other packages work.
        assert TASKS["grammar"].title == "Judge the grammar"
    assert TASKS[OWN[0]].name == OWN[0]


def test_two_packages_with_the_same_name(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = DECLARED.replace('"broken", "Broken"', '"grammar", "Broken"')
    write_package(packages, "capeval_broken", source, "broken = capeval_broken:BrokenTask")
    invalidate_caches()
    forget_plugins(monkeypatch)
    with pytest.raises(OptionError, match=r"'grammar' from capeval-\w+, 'grammar' from capeval-\w+"):
        list(TASKS)


def test_a_package_may_register_its_class_itself(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = DECLARED.replace("class BrokenTask", "@register\nclass BrokenTask")
    write_package(packages, "capeval_broken", source, "broken = capeval_broken:BrokenTask")
    invalidate_caches()
    forget_plugins(monkeypatch)
    assert list(TASKS).count("broken") == 1
    assert len(TASKS) == len(OWN) + 4
    assert template_text("broken") == TEXT
