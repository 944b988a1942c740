"""Golden of pages and API responses: every route, requested in each role."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from difflib import unified_diff
from pathlib import Path
from typing import Any

from scripts.goldens import story
from scripts.goldens.addresses import addresses
from scripts.goldens.coverage import check_templates, rendered, visited_routes
from scripts.goldens.determinism import reseed
from scripts.goldens.masks import mask
from scripts.goldens.registry import Golden, register
from scripts.goldens.server import undone
from scripts.goldens.visits import VISITS

# The user of each role.
_ROLES = {"anonymous": "anonymous", "participant": "ann", "organizer": "olga", "annotator": "annotator"}
_STAFF = {"staff": "staff"}
_SECOND_FACTOR = {"participant with a second factor": "bob"}
_ADMIN, _API, _PACKAGES = "admin/", "api/", ("admin/", "accounts/")
_UNORDERED_HEADERS = {"Allow": ", ", "Content-Security-Policy": "; "}
_VARYING_HEADERS = {"Content-Length", "X-Request-ID"}


def _write(folder: Path) -> None:
    told = story.run_story()
    with rendered() as templates:
        _write_pages(folder, told)
    check_templates(templates)


def _write_pages(folder: Path, told: story.Story) -> None:
    usual = dict(_request(told, "anonymous", "GET", "/").headers)
    (folder / "headers.txt").write_text(_format_headers(usual, {}))
    for route in visited_routes():
        roles = _get_roles(route)
        asked = [("GET", address, roles) for address in addresses(told, route)]
        if not route.startswith((*_PACKAGES, _API)):
            # The response to an empty form, with its errors.
            asked += [
                ("POST", address, {_get_acting_role(route): _ROLES[_get_acting_role(route)]})
                for _, address, _ in asked[:1]
            ]
        sections = [
            section
            for method, address, who in asked
            for section in _list_sections(told, method, address, who, usual)
        ]
        # Mode "x", so that two routes never share a file.
        with (folder / f"{_make_file_name(route)}.txt").open("x", encoding="utf-8") as file:
            file.write("\n".join(sections))
    for name, visit in VISITS.items():
        answer = _visit(told, name, visit)
        (folder / f"visit-{name}.txt").write_text(mask(_format_response(answer, usual)))


def _visit(told: story.Story, name: str, visit: Callable[[story.Story], Any]) -> Any:
    """Return the last response of a visit, and undo its effects."""
    cookies = {person: deepcopy(person.client.cookies) for person in told.people.values()}
    reseed(f"visit {name}")
    with undone():
        answer = visit(told)
        answer.whole = answer.content
    for person, before in cookies.items():
        person.client.cookies = before
    return answer


def _get_roles(route: str) -> Mapping[str, str]:
    if route.startswith(_ADMIN):
        return _STAFF
    if route.startswith("accounts/"):
        return {**_ROLES, **_SECOND_FACTOR}
    # Only staff may create challenges.
    return {**_ROLES, **_STAFF} if route.startswith("new/") else _ROLES


def _get_acting_role(route: str) -> str:
    if route.startswith("annotate/"):
        return "annotator"
    return "organizer" if re.match(r"campaigns/|new/|.*/organize/", route) else "participant"


def _make_file_name(route: str) -> str:
    name = re.sub(r"\(\?P<(\w+)>[^)]*\)|<(?:\w+:)?(\w+)>", lambda match: f"({match[1] or match[2]})", route)
    return name.strip("/").replace("/", ".") or "home"


def _request(told: story.Story, name: str, method: str, address: str) -> Any:
    """Return a response, and undo the effects of the request."""
    person = told.people[name]
    cookies = deepcopy(person.client.cookies)
    reseed(f"{method} {address}")
    with undone():
        if address.startswith(f"/{_API}"):
            answer = person.client.generic(method, address, headers=person.headers)
        else:
            answer = getattr(person.client, method.lower())(address)
        answer.whole = b"".join(answer) if answer.streaming else answer.content
    person.client.cookies = cookies
    return answer


def _list_sections(
    told: story.Story, method: str, address: str, roles: Mapping[str, str], usual: Mapping[str, str]
) -> Iterator[str]:
    """Yield the responses to a request: the first in full, the others as differences."""
    found: dict[str, list[str]] = {}
    for role, name in roles.items():
        answer = _request(told, name, method, address)
        text = _format_response(answer, usual)
        found.setdefault(mask(text), []).append(role)
    # By status, because responses with different statuses are different pages.
    firsts: dict[str, str] = {}
    for text, who in found.items():
        title = f"=== {method} {mask(address)} ({', '.join(who)})"
        status = text.partition("\n")[0]
        yield f"{title}\n{_format_difference(firsts[status], text) if status in firsts else text}"
        firsts.setdefault(status, text)


def _format_response(answer: Any, usual: Mapping[str, str]) -> str:
    return f"status {answer.status_code}\n{_format_headers(answer.headers, usual)}{_format_content(answer)}"


def _format_difference(first: str, text: str) -> str:
    lines = list(unified_diff(first.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
    # Without line numbers, which change whenever a line is added above.
    shown = "\n".join("@@" if line.startswith("@@") else line for line in lines)
    text_of_first = "as the first with this status, but for:"
    return f"{text_of_first}\n{shown}\n" if len(shown) < len(text) else text


def _format_headers(headers: Mapping[str, str], usual: Mapping[str, str]) -> str:
    """Return the headers that differ from the usual ones."""
    changed = {name: value for name, value in headers.items() if usual.get(name) != value}
    changed |= {name: "(none)" for name in usual if name not in headers}
    # The parts of these headers come from sets, and so change their order between processes.
    for name, separator in _UNORDERED_HEADERS.items():
        if name in changed:
            changed[name] = separator.join(sorted(changed[name].split(separator)))
    lines = [f"{name}: {value}\n" for name, value in sorted(changed.items()) if name not in _VARYING_HEADERS]
    return "".join(lines)


def _format_content(answer: Any) -> str:
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    data: bytes = answer.whole
    if not data:
        return ""
    if kind.endswith("json"):
        return json.dumps(json.loads(data, parse_float=_parse_rounded), indent=1, ensure_ascii=False) + "\n"
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "".join(f"{one.filename} ({one.file_size} bytes)\n" for one in archive.infolist())
    if kind.startswith("text/") or kind == "image/svg+xml":
        return _split_tags(data.decode())
    return "(binary)\n"


def _parse_rounded(number: str) -> float:
    # The last digits can differ between processors and C libraries.
    return round(float(number), 9)


def _split_tags(text: str) -> str:
    """Return a page with one tag or text per line, without surrounding whitespace."""
    broken = re.sub(r">\s*<", ">\n<", text)
    return "".join(f"{line.strip()}\n" for line in broken.splitlines() if line.strip())


register(Golden(name="pages", about="pages and answers of the API", write=_write, process="server"))
