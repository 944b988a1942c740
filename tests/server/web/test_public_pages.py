"""The pages that everybody sees."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet
from capeval_server.challenges.reserved_names import NOT_CHALLENGES, NOT_PHASES
from capeval_server.jobs.models import Worker
from capeval_server.leaderboards import ranking
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.selectors import queue
from capeval_server.web.markdown import excerpt, to_html
from tests.server.boards import around, baseline, score_again, stand
from tests.server.kit import Participant, Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

BOARD = "/small/open/?split=val&references=c2"
CITE = "/small/open/cite/?split=val&references=c2"
PLOT = "/small/open/plot.svg?split=val&references=c2"
API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PAGES = ("/", "/small/", BOARD, f"{BOARD}&subset=animals&sort_by=BLEU-1&order=worst", CITE, "/jobs/")


def page(path: str, status: int = 200) -> str:
    answer = Client().get(path)
    assert answer.status_code == status
    html: str = answer.content.decode()
    check_page(html, answer.headers["Content-Security-Policy"])
    return html


def texts(html: str) -> str:
    """Return the visible text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_pages_are_well_made(phase: Phase) -> None:
    stand("a", 1.0, samples=around(1.0), declared={"method": "m", "url": "https://x.org/y"})
    stand("b", 1.0, samples=around(1.0), mark="flagged", mark_reason="r")
    stand("c", state="waiting")
    baseline(0.5)
    Worker.objects.create(name="w")
    for path in PAGES:
        page(path)


def test_home_without_a_challenge() -> None:
    html = page("/")
    assert "There is no challenge yet" in html
    assert "capeval server" not in html
    staff = Someone("staff", is_staff=True)
    assert "capeval server import demo-challenge/challenge.toml" in staff.see("/")


def test_home(phase: Phase) -> None:
    stand("a", 1.0)
    stand("b", state="withdrawn", stands=False)
    now = timezone.now()
    for name, opens in (("past", -20), ("next", 20)):
        times = {"opens": now + timedelta(days=opens), "closes": now + timedelta(days=opens + 10)}
        Phase.objects.create(challenge=phase.challenge, name=name, quota_per_day=1, quota_total=1, **times)
    read = texts(page("/"))
    assert "A small challenge Six images, to try the server with. open open closes 2036-01-01" in read
    assert "upcoming next opens" in read
    assert "closed past since" in read
    assert "1 submission " in read


def test_a_challenge(phase: Phase) -> None:
    html = page("/small/")
    assert "5 a day, 20 in all" in texts(html)
    for link in ("/small/join/", "/small/open/", "/small/open/submit/"):
        assert f'href="{link}"' in html
    data = texts(page("/small/data/"))
    assert "Images 6" in data
    assert "c2 private c1 public" in data
    assert '"image_id": 1, "caption":' in data
    assert "captions_val_<alg>_results.json" in data
    rules = texts(page("/small/rules/"))
    assert "Be fair." in rules
    assert "5 submissions a day, 20 in all" in rules
    assert "Submission details" in rules
    for path in ("/nothing/", "/small/nothing/", "/small/nothing/cite/", "/small/nothing/plot.svg"):
        assert Client().get(path).status_code == 404


def test_an_address_that_only_takes_forms_says_so(ann: Participant) -> None:
    answer = ann.client.get("/small/team/leave/")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    html = answer.content.decode()
    check_page(html, answer.headers["Content-Security-Policy"])
    assert "Method not allowed" in html
    assert "ann" in texts(html)
    # Programs have the API's own words.
    assert Client().get("/api/token").content == b"Method not allowed"


@pytest.mark.parametrize("name", ["400", "413", "500", "503"])
def test_a_page_that_knows_no_user_offers_nobody_to_sign_in(name: str) -> None:
    html = render_to_string(f"{name}.html", {"bytes": 2**26})
    assert "Sign in" not in html
    assert "Sign in" in page("/")


def _tabs(html: str) -> list[tuple[str, str]]:
    """The tabs of a page: their texts and addresses."""
    row = re.search(r'<nav aria-label="Challenge">.*?</nav>', html, re.DOTALL)
    assert row
    return [(text, address) for address, text in re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)', row[0])]


def test_tabs_lead_to_what_there_is(phase: Phase, olga: Someone, ann: Participant) -> None:
    everybody = [
        ("About", "/small/"),
        ("Data", "/small/data/"),
        ("Rules", "/small/rules/"),
        ("Leaderboard", "/small/open/"),
        ("Submit", "/small/open/submit/"),
    ]
    assert _tabs(page("/small/")) == everybody
    for path in ("/small/data/", "/small/rules/", "/small/open/"):
        assert _tabs(page(path)) == everybody
        assert page(path).count('aria-current="page"') == 1
    team = [("Your submissions", "/small/submissions/"), ("Your team", "/small/team/")]
    assert _tabs(ann.see("/small/team/")) == everybody + team
    assert _tabs(olga.see("/small/")) == [*everybody, ("Organize", "/small/organize/")]
    Phase.objects.update(leaderboard="hidden")
    assert ("Leaderboard", "/small/open/") not in _tabs(page("/small/"))
    assert ("Leaderboard", "/small/open/") in _tabs(olga.see("/small/"))
    Phase.objects.update(closes=timezone.now())
    assert ("Submit", "/small/open/submit/") not in _tabs(page("/small/"))


def test_tabs_lead_to_the_phase_that_matters_now(phase: Phase) -> None:
    now = timezone.now()
    for name, opens in (("past", -20), ("older", -30), ("next", 20)):
        times = {"opens": now + timedelta(days=opens), "closes": now + timedelta(days=opens + 10)}
        other = Phase.objects.create(
            challenge=phase.challenge,
            name=name,
            leaderboard="public",
            quota_per_day=1,
            quota_total=1,
            **times,
        )
        other.splits.set(phase.splits.all())
    assert ("Leaderboard", "/small/open/") in _tabs(page("/small/rules/"))
    # The page of a phase has links to the pages of other phases.
    assert "Phase open past older" in texts(page("/small/past/"))
    phase.delete()
    assert ("Leaderboard", "/small/past/") in _tabs(page("/small/rules/"))


def test_published_results_come_first_until_a_phase_opens(phase: Phase) -> None:
    """A validation phase stays open after the results of the test phase."""
    stand("ann", 0.5)
    now = timezone.now()
    Phase.objects.filter(pk=phase.pk).update(name="test", closes=now - timedelta(days=3))
    about: dict[str, Any] = {
        "challenge": phase.challenge, "leaderboard": "public", "quota_per_day": 1, "quota_total": 1,
        "closes": now + timedelta(days=300),
    }  # fmt: skip
    Phase.objects.create(name="validation", opens=now - timedelta(days=9), **about).splits.set(
        phase.splits.all()
    )

    def shown() -> tuple[str, ...]:
        """First leaderboard on the home page, first phase of the challenge, tab, and table of the best."""
        home = page("/")
        best = re.findall(r"The best of (\w+)", texts(home))
        (first, *_) = re.findall(r'href="/small/(\w+)/"', home)
        (section, *_) = re.findall(r'id="phase-(\w+)"', page("/small/"))
        return first, section, dict(_tabs(page("/small/rules/")))["Leaderboard"], *best

    assert shown()[:3] == ("validation", "validation", "/small/validation/")
    Phase.objects.filter(name="test").update(final=now - timedelta(days=1))
    assert shown() == ("test", "test", "/small/test/", "test")
    assert "final test since" in texts(page("/"))
    # So do the results of a blind phase.
    Phase.objects.filter(name="test").update(final=None, blind=True, published=now - timedelta(days=1))
    assert shown() == ("test", "test", "/small/test/", "test")
    Phase.objects.filter(name="test").update(leaderboard="hidden")
    assert shown()[:3] == ("validation", "validation", "/small/validation/")
    Phase.objects.filter(name="test").update(leaderboard="public")
    Phase.objects.create(name="next", opens=now - timedelta(hours=1), **about).splits.set(phase.splits.all())
    assert shown()[:3] == ("next", "next", "/small/next/")
    assert "Phase next test validation" in texts(page("/small/test/"))


def test_the_best_are_on_the_first_page(phase: Phase) -> None:
    for number in range(7):
        stand(f"team {number}", number / 10)
    read = texts(page("/"))
    assert "The best of open by CIDEr-D team 6 0.600 team 5 0.500" in read
    assert "team 1 " not in read
    Phase.objects.update(leaderboard="hidden")
    assert "The best of" not in texts(page("/"))


DANGEROUS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=//evil.example></iframe>",
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>x</a>",
    "<form action=//evil.example><input name=p></form>",
    "<details open ontoggle=alert(1)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<!--><img src=x onerror=alert(1)>-->",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://evil.example/x.png)",
    "![x](javascript:alert(1))",
    '![x"onerror="alert(1)](x)',
    '[x](https://a.example "onmouseover=alert(1)")',
    "<https://a.example/\"onmouseover='alert(1)'>",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "```<script>\n</code></pre><script>alert(1)</script>\n```",
    "| <img src=x onerror=alert(1)> |\n|:-:|\n| `</td><script>` |",
    '<div style="position:fixed" class="x" id="y">',
)
TAGS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "strong", "ul"}
TAGS |= {"h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}
_TAG = re.compile(r"<(/?)([a-z0-9]+)((?: [a-z]+=\"[^\"<>]*\")*)( ?/?)>")


@pytest.mark.parametrize("text", DANGEROUS)
def test_markdown_is_harmless(phase: Phase, text: str) -> None:
    for source in (text, f"# {text}", f"- {text}", f"> {text}", f"a {text} b"):
        html = to_html(source)
        # All that looks like markup is of a few kinds, and has no attributes but those of a link.
        for _, tag, attributes, _ in _TAG.findall(html):
            assert tag in TAGS
            assert not attributes or tag == "a"
            for name, value in re.findall(r' ([a-z]+)="([^"]*)"', attributes):
                assert name in ("href", "title", "rel")
                assert name != "href" or unescape(value).startswith(("https://", "http://", "mailto:"))
        assert "<" not in _TAG.sub("", html)
        assert "evil.example/x.png" not in html
    Challenge.objects.update(description=text, rules=text)
    page("/")
    page("/small/")


def test_markdown() -> None:
    html = to_html("# A\n\n*b* [c](https://d.example)\n\n1. e\n\n| f |\n|---|\n| g |")
    assert "<h3>A</h3>" in html
    assert '<a href="https://d.example" rel="nofollow noopener">c</a>' in html
    assert "<td>g</td>" in html
    assert excerpt("# A\n\n*b* [c](https://d.example)\n`d` ![e](f)\n\ng") == "b c d e"
    assert excerpt("") == excerpt("# a") == ""
    for url in (
        "https://good.example@evil.example",
        "http:evil.example",
        "//evil.example",
        "ftp://e.example",
    ):
        assert "<a" not in to_html(f"[a]({url})"), url
        assert "<a" not in to_html(f"<{url}>"), url
    for url in ("/small/rules/", "#a", "mailto:a@b.example"):
        assert f'<a href="{url}"' in to_html(f"[a]({url})"), url


def test_text_is_text(phase: Phase) -> None:
    evil = '<script>alert("1")</script><b onclick=x>{{ 7 }}'
    Challenge.objects.update(title=f"T{evil}")
    about = {
        "algorithm": evil,
        "mark": "flagged",
        "mark_reason": evil,
        "declared": {"method": evil, "x": evil},
    }
    stand(evil, 1.0, **about)
    for path in PAGES:
        html = page(path)
        assert "<script>" not in html
        assert "onclick=x>" not in html
    assert texts(page(BOARD)).count(evil) >= 3
    assert b"<script>" not in Client().get(PLOT).content


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("https://a.example/x?y=z#w", True),
        ("http://a.example", True),
        ("javascript:alert(1)", False),
        ("JAVASCRIPT://a.example/%0aalert(1)", False),
        ("data:text/html,x", False),
        ("//a.example", False),
        ("https:///x", False),
        ("https://a.example/ onclick=x", False),
        ("https://a.example/\u202e", False),
        ("https://[::1", False),
        ("https://a.example\\@b.example", False),
        ("https://a.example\\.b.example/", False),
        ("https://a.example@b.example/", False),
        ("https://a.example:x@b.example/", False),
        ("https://a.example/@b", True),
        ("see https://a.example", False),
        ("/small/", False),
        ("", False),
    ],
)
def test_addresses_that_are_links(phase: Phase, text: str, linked: bool) -> None:
    assert safe_link(text) == (text if linked else "")
    stand("a", 1.0, declared={"url": text, "method": "A method"})
    html = page(BOARD)
    found = re.findall(r'<a href="([^"]*)" rel="nofollow noopener noreferrer">', html)
    assert [unescape(link) for link in found] == ([text] if linked else [])
    assert "A method" in html or not linked


def test_columns_sort_both_ways(phase: Phase) -> None:
    stand("a", 1.0)
    html = page(BOARD)
    assert html.count("aria-sort") == 1
    (again,) = re.findall(r'aria-sort="descending"><a href="([^"]*)">CIDEr-D<', html)
    html = page(unescape(again))
    (back,) = re.findall(r'aria-sort="ascending"><a href="([^"]*)">CIDEr-D<', html)
    assert "order" not in back
    (other,) = re.findall(r'<a href="([^"]*)">METEOR<', html)
    assert 'aria-sort="descending"><a' in page(unescape(other))


def test_links_between_leaderboards(phase: Phase) -> None:
    stand("a", 1.0)
    html = page(f"{BOARD}&sort_by=METEOR")
    links = [unescape(link) for link in re.findall(r'<li><a href="(/small/open/\?[^"]*)"', html)]
    # The references, the columns with the overview, and the subsets.
    assert len(links) == 2 + 4 + 3
    for link in links:
        assert "sorted by METEOR" in page(link)


def test_pages_of_rows(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "PAGE", 2)
    for number in range(5):
        stand(f"team {number}", float(number))
    first, last = page(BOARD), page(f"{BOARD}&page=3")
    assert "team 4" in first
    assert "team 2" not in first
    assert re.findall(r'class="team"[^>]*><bdi>([^<]*)', last) == ["team 0"]
    assert '<td class="rank number">5</td>' in last
    assert 'aria-current="page">3</a>' in last
    for link in re.findall(r'href="(/small/open/\?[^"]*page=\d+)"', first):
        page(unescape(link))
    assert Client().get(f"{BOARD}&page=4").status_code == 404


def test_what_fails_or_waits_is_shown(phase: Phase) -> None:
    stand("a", 1.0)
    Submission.objects.update(state="running")
    Score.objects.all().delete()
    submission = Submission.objects.get()
    submission.results.update(failure="CIDEr-D could not be computed")
    assert ">failed</span>" in page(BOARD)
    submission.results.all().delete()
    # Writing or deleting results also changes their submission.
    Submission.objects.update()
    html = page(BOARD)
    assert "1 submission is being scored again with version 1 of the references" in html
    assert "being scored again</span>" in html
    assert html.count('<span class="muted">…</span>') == 7


HIDDEN = (BOARD, f"{BOARD}&page=1", PLOT, CITE, API, f"{API}&format=csv", f"{API}&version=1")


@pytest.mark.parametrize(("leaderboard", "opens"), [("after", True), ("hidden", False)])
def test_hidden_leaderboards_tell_nothing(phase: Phase, leaderboard: str, opens: bool) -> None:
    stand("Secretteam", 0.123456, algorithm="Secretalgorithm", declared={"method": "Secretmethod"})
    baseline(0.654321)
    cited = unescape(re.findall(r'class="permalink" href="([^"]*)"', page(CITE))[0])
    mark = cited.rpartition("=")[2]
    Phase.objects.update(leaderboard=leaderboard)
    parts = urlsplit(cited)
    for path in (*HIDDEN, f"{parts.path}?{parts.query}", f"{BOARD}&sort_by=x", "/small/open/"):
        answer = Client().get(path)
        assert answer.status_code == 403, path
        text = answer.content.decode() + str(answer.headers)
        for secret in ("Secret", "0.123", "0.654", f">{mark}<", "ETag"):
            assert secret not in text
    html = page(BOARD, 403)
    assert ("2036-01-01" in html) == opens
    assert "Leaderboard</a>" not in page("/small/")
    for path in ("/", "/small/", "/jobs/", "/api/jobs", "/api/challenges/small"):
        assert b"Secret" not in Client().get(path).content
    organizer = User.objects.create(username="o")
    phase.challenge.organizers.add(organizer)
    client = Client()
    client.force_login(organizer)
    assert b"Only organizers can see this leaderboard" in client.get(BOARD).content
    for path in HIDDEN:
        assert client.get(path).status_code == 200
    Phase.objects.update(closes=timezone.now())
    for path in HIDDEN:
        assert Client().get(path).status_code == (200 if opens else 403)


def test_plots_are_sent_once(phase: Phase) -> None:
    stand("a", 1.0)
    first = Client().get(PLOT)
    assert first.headers["Content-Type"] == "image/svg+xml"
    tag = first.headers["ETag"]
    again = Client(headers={"If-None-Match": tag}).get(PLOT)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert Client().get(f"{PLOT}&theme=dark").headers["ETag"] != tag
    score_again(Submission.objects.get(), {"CIDEr-D": 2.0})
    changed = Client(headers={"If-None-Match": tag}).get(PLOT)
    assert (changed.status_code, changed.headers["ETag"] != tag) == (200, True)


def test_citing(phase: Phase) -> None:
    first, second = stand("a", 1.0), stand("b", 2.0)
    Submission.objects.update(created=timezone.now() - timedelta(hours=1))
    html = page(CITE)
    permalink = unescape(re.findall(r'class="permalink" href="([^"]*)"', html)[0])
    for part in ("split=val", "references=c2", "version=1", "sort_by=CIDEr-D", "as_of=20", "fingerprint="):
        assert part in permalink
    assert permalink in unescape(html).split("\\url{")[1]
    as_of = re.findall(r"as_of=(\d{8})T(\d\d)(\d\d)(\d\d)Z", permalink)[0]
    assert f"{as_of[1]}:{as_of[2]}:{as_of[3]} UTC; 2 rows" in html
    parts = urlsplit(permalink)
    cited = f"{parts.path}?{parts.query}"
    assert "Nothing has changed since" in page(cited)
    # What came later is not in it, so it is the same still.
    stand("c", 3.0, created=timezone.now() + timedelta(minutes=1))
    html = page(cited)
    assert "Nothing has changed since" in html
    assert ">c</bdi></a>" not in html
    Submission.objects.filter(pk=first.pk).update(stands=False)
    assert "This leaderboard has changed since" in page(cited)
    Submission.objects.filter(pk=first.pk).update(stands=True)
    assert "Nothing has changed since" in page(cited)
    score_again(second, {"CIDEr-D": 2.1})
    assert "This leaderboard has changed since" in page(cited)


@pytest.mark.usefixtures("clock")
def test_jobs(phase: Phase) -> None:
    html = page("/jobs/")
    assert "No worker is running" in html
    Worker.objects.create(name="secret-host:1")
    stand("Secretteam", 1.0, created=timezone.now() - timedelta(seconds=30), finished=timezone.now())
    assert "would be scored at once" in page("/jobs/")
    for _ in range(4):
        stand(f"Secretteam {Submission.objects.count()}", state="waiting")
    # Human baselines do not delay submissions.
    waiting = Submission.objects.create(baseline_of=ReferenceSet.objects.get(name="c2"), algorithm="human")
    assert queue.ahead_of(waiting) == 4
    assert (
        queue.ahead_of(Submission.objects.filter(state="waiting", team__isnull=False).latest("created")) == 3
    )
    html = page("/jobs/")
    assert "would wait about 2 min" in html
    assert "1 in the last hour, 1 in the last 24 hours" in html
    assert "ecret" not in html
    answer: Any = Client(headers={"HX-Request": "true"}).get("/jobs/")
    assert answer.content.decode().lstrip().startswith('<div id="jobs" hx-get="/jobs/"')
    assert "HX-Request" in answer.headers["Vary"]
    assert "ecret" not in answer.content.decode()


def test_addresses_and_names_do_not_meet() -> None:
    first, second = set(), set()
    for pattern in get_resolver().url_patterns:
        for route in _routes(pattern):
            parts = re.sub(r"<[^>]*>", "<>", route).split("/")
            if parts[0] not in ("", "<>"):
                first.add(parts[0])
            # Names contain no dots, unlike `kit.zip`.
            elif parts[0] == "<>" and re.fullmatch(r"[\w-]+", parts[1]):
                second.add(parts[1])
    assert {"api", "accounts", "admin", "jobs"} <= first <= NOT_CHALLENGES
    assert second <= NOT_PHASES


def _routes(pattern: Any, prefix: str = "") -> list[str]:
    route = prefix + str(pattern.pattern)
    if hasattr(pattern, "url_patterns"):
        return [found for part in pattern.url_patterns for found in _routes(part, route)]
    return [route]
