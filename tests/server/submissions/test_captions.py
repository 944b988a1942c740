"""The page of captions: only data that organizers and teams have made public."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Split
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_files import import_challenge, import_files
from capeval_server.jobs import worker
from capeval_server.submissions.models import Submission
from capeval_server.submissions.selectors.captions import Filter, ShownCaptions, shown_methods, shown_splits
from capeval_server.teams.services.enrollment import join
from tests.server.kit import CAPTIONS, MARKER, Participant, Someone, code_of, results, write_challenge
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

PAGE = "/small/open/captions/"
OBJECTS = [
    {"image_id": 1, "constraints": [{"name": "dog", "phrases": ["dog", "dogs"]}]},
    {
        "image_id": 3,
        "constraints": [{"name": "bus", "phrases": ["red bus"]}, {"name": "dog", "phrases": ["dog"]}],
    },
]
OTHERS = {**CAPTIONS, 1: "A cat.", 3: "A dog on a red bus.", 5: "Nothing."}


def page(query: str = "", status: int = 200) -> str:
    answer = Client().get(PAGE + query)
    assert answer.status_code == status
    html: str = answer.content.decode()
    check_page(html, answer.headers["Content-Security-Policy"], images_from=("https://images.org",))
    return html


def data(query: str = "") -> Any:
    found = re.search(r'<script type="application/json" id="captions-data">(.*?)</script>', page(query), re.S)
    assert found
    return json.loads(found[1])


def ids(query: str) -> list[int]:
    return [int(image) for image in data(query)["ids"]]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The small challenge with public references and objects to mention."""
    path = write_challenge(tmp_path)
    (tmp_path / "objects.json").write_text(json.dumps(OBJECTS))
    text = path.read_text().replace("public = false", "public = true")
    text = text.replace('subsets = "subsets.json"', 'subsets = "subsets.json"\nconstraints = "objects.json"')
    text = text.replace('sort_by = "CIDEr-D"', 'sort_by = "CIDEr-D"\nimage_url = "https://images.org/{id}"')
    path.write_text(f'{text}captions = ["val"]\ncaptions_by = "standing"\n')
    return path


@pytest.fixture
def public(written: Path) -> Challenge:
    return import_challenge(written)


@pytest.fixture
def two(public: Challenge) -> list[Submission]:
    """Two teams on the leaderboard, the better one first."""
    made = []
    for name, captions in (("first", CAPTIONS), ("second", OTHERS)):
        user = Participant(name)
        answer = user.submit(results(captions))
        assert worker.work_once()
        Submission.objects.filter(pk=answer.json()["id"]).update(stands=True)
        made.append(Submission.objects.get(pk=answer.json()["id"]))
    return made


def test_nothing_is_shown_unless_the_organizers_say_so(phase: Phase, ann: Participant) -> None:
    ann.scored(stands=True)
    page(status=404)
    assert "captions/" not in Client().get("/small/open/").content.decode()
    Phase.objects.update(captions=["val"])
    assert "No captions yet." in page()
    assert 'href="/small/open/captions/"' in Client().get("/small/open/").content.decode()
    Phase.objects.update(leaderboard="hidden")
    page(status=404)


def test_a_team_agrees_and_takes_it_back(phase: Phase, ann: Participant) -> None:
    ann.scored(stands=True)
    assert "Your captions" not in ann.see("/small/team/")
    Phase.objects.update(captions=["val"])
    assert "Your team has not agreed." in ann.see("/small/team/")
    ann.do("/small/team/captions/", act="show")
    assert "Your team agreed." in ann.see("/small/team/")
    assert data()["systems"] == ["m (ann)"]
    assert ann.read("/api/challenges/small/team")["shows_captions"] is True
    answer = ann.api.put(
        "/api/challenges/small/team/captions", {"shows_captions": False}, content_type="application/json"
    )
    assert answer.json()["shows_captions"] is False
    assert "No captions yet." in page()


def test_only_the_owner_agrees_for_a_team(phase: Phase, ann: Participant, bob: Participant) -> None:
    carl = Someone("carl")
    join(carl.user, phase.challenge, code_of(ann.team))
    Phase.objects.update(captions=["val"])
    assert "The owner of the team can change this." in carl.see("/small/team/")
    carl.do("/small/team/captions/", 404, act="show")
    answer = carl.program("submit").put(
        "/api/challenges/small/team/captions", {"shows_captions": True}, content_type="application/json"
    )
    assert answer.status_code == 409
    ann.team.refresh_from_db()
    assert ann.team.shows_captions is False


def test_what_does_not_stand_or_is_hidden_is_not_shown(two: list[Submission]) -> None:
    assert data()["systems"] == ["m (first)", "m (second)"]
    Submission.objects.filter(pk=two[0].pk).update(mark="hidden")
    assert data()["systems"] == ["m (second)"]
    Submission.objects.filter(pk=two[1].pk).update(stands=False)
    assert "No captions yet." in page()


def test_private_references_and_what_they_tell_are_not_shown(phase: Phase, ann: Participant) -> None:
    Phase.objects.update(captions=["val"], captions_by="standing")
    ann.scored(stands=True)
    found = data("?references=c2")
    # By the public set alone; who is in which subset is for those with private references to know.
    assert "<option" not in re.sub(
        r"(?s)<select name=\"(where|score|order)\".*?</select>", "", page("?references=c2")
    )
    assert [len(texts) for texts in found["references"]] == [1] * 6
    assert (found["domains"], found["constraints"], len(found["values"][0][0])) == (None, None, 6)
    ReferenceSet.objects.update(public=False)
    found = data()
    assert (found["references"], found["scores"], found["values"]) == ([[]] * 6, [], [[]])
    assert "The references of val are private" in page()
    for query in ("", "?references=c2", "?references=c1", "?domain=animals"):
        assert MARKER.lower() not in page(query).lower()
    # A search does not match hidden data.
    assert ids(f"?search={MARKER}") == ids(f"?search={MARKER}&where=references") == []


def test_people_are_shown_only_where_their_references_are_public(written: Path) -> None:
    text = written.read_text()
    shown = text.replace('"references_c2.json"', '"references_c2.json", human = "human.json"')
    written.write_text(shown)
    challenge = import_challenge(written)
    assert worker.work_once()
    assert data()["systems"] == ["human"]
    assert "by <bdi>human</bdi>" not in page()
    written.write_text(shown.replace("public = true", "public = false", 1))
    import_challenge(written)
    assert "No captions yet." in page()
    assert challenge.slug == "small"


def test_methods_side_by_side(two: list[Submission]) -> None:
    found = data()
    assert found["candidates"][1][0] in OTHERS.values()
    assert found["domains"]["names"]
    assert found["constraints"]["names"] == ["dog", "bus", "dog"]
    assert found["pictures"] == {"before": "https://images.org/", "after": "", "middles": found["ids"]}
    assert found["served"] == {"score": found["scores"].index("CIDEr-D"), "system": 0, "other": -1}
    assert data(f"?with={two[1].pk}")["systems"] == ["m (second)"]


def test_filters_and_orders(two: list[Submission]) -> None:
    first, second = two
    assert ids("?order=file") == list(CAPTIONS)
    assert ids("?order=file&search=%22red+bus%22") == [3]
    assert ids("?order=file&search=6&where=candidates") == []
    assert ids("?order=file&search=6") == [6]
    assert ids("?order=file&domain=animals") == Split.objects.get().get_subset_images()["animals"]
    assert ids("?order=file&object=dog") == [1, 3]
    assert ids(f"?order=file&mentioned=all&system={first.pk}") == [1]
    assert ids(f"?order=file&mentioned=some&system={first.pk}") == [3]
    assert ids(f"?order=file&mentioned=all&system={second.pk}") == [3]
    difference = f"?score=ROUGE-L&system={first.pk}&other={second.pk}"
    # The second says something else of three images.
    assert set(ids(difference)[:3]) == {1, 3, 5}
    assert set(ids(f"{difference}&least=0.001")) <= {1, 3, 5}
    assert ids(f"{difference}&least=-0.0005&most=0&order=file") == [2, 4, 6]
    assert ids(f"{difference}&order=lowest")[-1] == ids(difference)[0]
    # Invalid parameters are ignored.
    assert ids("?order=x&score=x&system=x&domain=x&object=x&least=nan&most=x&page=x&with=x") == ids("")


def test_the_script_and_the_server_find_the_same(two: list[Submission]) -> None:
    """Apply the script's rule for captions that mention objects to the data sent to it."""
    found = data("?order=file")
    phrases = found["constraints"]["phrases"]
    for system, submission in enumerate(two):
        all_of_them = []
        for place, image in enumerate(found["ids"]):
            stored = found["tokens"][system + 1].get(str(place))
            text = found["candidates"][system][place]
            tokens = stored or " ".join(re.findall(r"[A-Za-z0-9'-]+", text)).lower()
            wanted = [phrases[at] for at in found["constraints"]["of"][place]]
            if wanted and all(any(f" {one} " in f" {tokens} " for one in each) for each in wanted):
                all_of_them.append(int(image))
        assert all_of_them == ids(f"?order=file&mentioned=all&system={submission.pk}")


def test_the_organizers_switch(public: Challenge, two: list[Submission]) -> None:
    olga = Someone("olga")
    public.organizers.add(olga.user)
    html = olga.see("/small/organize/phases/open/")
    assert "Splits with public captions" in html
    form = dict(re.findall(r'<input type="hidden" name="(seen)" value="(\w+)"', html))
    sent: dict[str, Any] = {
        "opens": "2026-01-01T00:00",
        "closes": "2036-01-01T00:00",
        "splits": "val",
        "quota_per_day": 5,
    }
    sent |= {"quota_total": 20, "leaderboard": "public", "captions_by": "agreed", **form}
    olga.do("/small/organize/phases/open/", **sent)
    assert (Phase.objects.get().captions, Phase.objects.get().captions_by) == ([], "agreed")
    assert "changed captions and captions by of phase open" in unescape(olga.see("/small/organize/trail/"))
    place = "/api/challenges/small/organize/phases/open/captions"
    asked = {"captions": ["val"], "captions_by": "standing"}
    answer = olga.program("organize").put(place, asked, content_type="application/json")
    assert (answer.status_code, answer.json()) == (200, asked)
    assert data()["systems"] == ["m (first)", "m (second)"]
    shown = Client().get("/api/challenges/small").json()["phases"][0]
    assert (shown["captions"], shown["captions_by"]) == (["val"], "standing")
    answer = olga.program("organize").put(
        place, {**asked, "captions": ["x"]}, content_type="application/json"
    )
    assert (answer.status_code, "must be one of val (got 'x')" in answer.json()["detail"]) == (422, True)


def test_constraints_in_files(written: Path) -> None:
    objects = written.parent / "objects.json"
    import_challenge(written)
    objects.write_text(json.dumps([{"image_id": 99, "constraints": []}]))
    with pytest.raises(ChallengeError, match=r"objects.json: .*99.* not in split 'val'"):
        import_challenge(written)
    objects.write_text(json.dumps([{"image_id": 1, "constraints": [{"name": "dog", "phrases": []}]}]))
    with pytest.raises(Exception, match=r"objects.json: .*phrases must be a list of strings"):
        import_challenge(written)
    written.write_text(written.read_text().replace('constraints = "objects.json"', ""))
    import_challenge(written)
    assert hasattr(Split.objects.get(), "constraints")
    import_files(written, delete=["splits.val.constraints"])
    assert not hasattr(Split.objects.get(), "constraints")


def test_pages_and_queries_do_not_grow(two: list[Submission], django_assert_max_num_queries: Any) -> None:
    split = shown_splits(Phase.objects.get(), timezone.now())[0]
    methods = shown_methods(Phase.objects.get(), split, timezone.now(), 6)
    references = split.reference_sets.get(name="c2")
    captions = ShownCaptions(split=split, references=references, shown=methods)
    assert captions.places(Filter()) == list(range(6))
    page()
    with django_assert_max_num_queries(35):
        page()
