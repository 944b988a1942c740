"""Fixtures: the small challenge with participants, and complete servers for tests with real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.hosting.services.definition_files import import_challenge
from tests.server.clock import Clock
from tests.server.kit import Participant, Someone, write_challenge
from tests.server.processes import Postgres, Server, running_postgres


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A stopped clock for the server in this process."""
    return Clock(monkeypatch)


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    """The definition file of the small challenge."""
    return write_challenge(tmp_path)


@pytest.fixture
def challenge(definition: Path) -> Challenge:
    """The small challenge."""
    return import_challenge(definition)


@pytest.fixture
def phase(challenge: Challenge) -> Phase:
    """The phase of the small challenge."""
    return Phase.objects.select_related("challenge").get(challenge=challenge)


@pytest.fixture
def olga(challenge: Challenge) -> Someone:
    """The organizer of the small challenge."""
    olga = Someone("olga")
    challenge.organizers.add(olga.user)
    return olga


@pytest.fixture
def ann(challenge: Challenge) -> Participant:
    """A participant in a team of one."""
    return Participant("ann")


@pytest.fixture
def bob(challenge: Challenge) -> Participant:
    """Another participant in a team of one."""
    return Participant("bob")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests."""
    with running_postgres() as made:
        yield made


# The tests on SQLite are part of `make endurance`, because they double the time.
@pytest.fixture(scope="module", params=[pytest.param("sqlite", marks=pytest.mark.conformance), "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """A new database of each kind; None means SQLite in the data folder."""
    if request.param == "sqlite":
        return None
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.new_database()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    """A server without data."""
    made = Server(tmp_path, None)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database: str | None) -> Iterator[Server]:
    """A server that runs, with the small challenge."""
    made = Server(tmp_path_factory.mktemp("server"), database)
    made.prepare()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def token(server: Server) -> str:
    """API token of a user without submissions."""
    return server.tokens.pop()
