"""`capeval server`: the commands that run and manage a server."""

from __future__ import annotations

import os
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.errors import OptionError
from capeval.files import written_whole

if TYPE_CHECKING:
    from django.contrib.auth.models import User as Users

    from capeval_server.challenges.models import Challenge

__all__ = ["app"]

app = typer.Typer(
    name="server",
    help="Runs an evaluation server: challenges, submissions, leaderboards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
User = Annotated[str, typer.Argument(metavar="USER", help="The user's name.", show_default=False)]
Slug = Annotated[
    str,
    typer.Argument(metavar="CHALLENGE", help="The challenge, as its address names it.", show_default=False),
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)]
Threads = Annotated[int, typer.Option(help="How many requests to answer at once.", min=1)]


class Scope(StrEnum):
    """What a token is good for."""

    READ = "read"
    SUBMIT = "submit"
    ORGANISE = "organise"


def _set_up() -> None:
    """Starts Django, which only a command that runs needs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capeval_server.settings")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise OptionError(str(error)) from None


@app.command()
def migrate() -> None:
    """Makes the database, or brings it up to this version of the server."""
    _set_up()
    from django.conf import settings
    from django.core.management import call_command

    settings.DATA.mkdir(parents=True, exist_ok=True)
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    print("The database is up to date")


@app.command()
def start(host: Host = "127.0.0.1", port: Port = 8000, threads: Threads = 8) -> None:
    """Starts the server. Submissions are scored by `capeval server worker`."""
    _set_up()
    _check_database()
    _serve(host, port, threads)


def _check_database() -> None:
    """Refuses a database that is not of this version; one that does not answer yet may be."""
    from django.db import OperationalError, connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
    except OperationalError:
        return
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise OptionError(
            "the database is not of this version of the server: run `capeval server migrate` first"
        )


def _serve(host: str, port: int, threads: int) -> None:
    import waitress
    from django.conf import settings

    from capeval_server.wsgi import application

    print(f"Listening on http://{host}:{port}", flush=True)
    # What a form holds beside the file is little.
    body = settings.UPLOAD_BYTES + 2**20
    # Without a proxy, the headers of one are a client's invention, and are dropped.
    headers = "x-forwarded-for x-forwarded-proto"
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": headers, "trusted_proxy_count": 1}
    waitress.serve(
        application,
        host=host,
        port=port,
        threads=threads,
        max_request_body_size=body,
        ident=None,
        clear_untrusted_proxy_headers=True,
        **(proxy if settings.HTTPS else {}),
    )


@app.command()
def worker(
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="End when no submission waits or is being scored.")
    ] = False,
) -> None:
    """Scores submissions as they come. Any number of workers may run, and may be stopped at any time."""
    _set_up()
    _check_database()
    from capeval_server.jobs.worker import Heartbeat, run

    heartbeat = Heartbeat()
    # Stopped by this signal, it gives back the job that it does.
    signal.signal(signal.SIGTERM, heartbeat.stop)
    run(heartbeat, until_empty=until_empty)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to keep it; made if needed.")] = Path("demo-server"),
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Starts a server and a worker to try: the COCO challenge, simple methods, and an account."""
    os.environ["CAPEVAL_SERVER_DATA"] = str(folder.absolute())
    os.environ.pop("CAPEVAL_SERVER_DATABASE", None)
    migrate()
    import logging
    import subprocess

    from capeval_server import demo

    logging.getLogger("capeval_server.jobs.worker").setLevel(logging.WARNING)
    demo.load(folder / "coco-captions", lambda line: print(line, flush=True))
    print(f"Sign in as {demo.ACCOUNT} with the password {demo.set_password()}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    scorer = subprocess.Popen([sys.executable, "-m", "capeval_server", "worker"])
    try:
        _serve(host, port, 8)
    finally:
        scorer.terminate()
        scorer.wait()


@app.command("import")
def import_files(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Its challenge.toml.", show_default=False)],
) -> None:
    """Makes a challenge from files, or changes it to what they say now."""
    _set_up()
    from capeval_server.organising.definition_files import import_challenge

    challenge = import_challenge(path)
    splits, phases = challenge.splits.count(), challenge.phases.count()
    print(f"{challenge.slug}: imported; splits: {splits}, phases: {phases}")


@app.command()
def example(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="`small` or `coco-captions`.", show_default=False)
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write; made if needed.", show_default=False)
    ],
) -> None:
    """Writes the files of an example challenge, ready to import."""
    from capeval_server.examples import write_example

    print(write_example(name, folder))


@app.command()
def user(
    name: User,
    email: Annotated[str, typer.Option(help="An email address, which counts as verified.")] = "",
    staff: Annotated[bool, typer.Option("--staff", help="Let the user administer the site.")] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read a password from standard input.")
    ] = False,
) -> None:
    """Makes a user, who without a password can set one by "Forgot your password?", or use tokens alone."""
    _set_up()
    from django.core.exceptions import ValidationError

    from capeval_server.accounts.users import make_user

    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    try:
        make_user(name, email=email, password=password, staff=staff)
    except ValidationError as error:
        # No message quotes a password.
        raise OptionError(f"'name', 'email' or password: {' '.join(error.messages)} (got {name!r})") from None
    print(f"{name}: made")


@app.command()
def token(
    user: User,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name to know the token by.", show_default=False)
    ],
    scope: Annotated[Scope, typer.Option(help="What it allows.")] = Scope.SUBMIT,
    days: Annotated[int, typer.Option(help="How many days it is valid.", min=1, max=3650)] = 365,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the token of that name instead.")] = False,
) -> None:
    """Makes a token for the API and shows it, once; or revokes one."""
    _set_up()
    from django.db import IntegrityError

    from capeval_server.accounts.models import Token

    owner = _user(user)
    if not revoke:
        try:
            print(Token.issue(owner.pk, name, scope, days=days))
        except IntegrityError:
            raise OptionError(f"'name' must be new among {user}'s tokens (got {name!r})") from None
        return
    found = owner.tokens.filter(name=name, revoked=None).first()
    if found is None:
        raise OptionError(f"'name' must be the name of one of {user}'s tokens (got {name!r})")
    found.revoke()
    print(f"{name}: revoked")


@app.command()
def rerun(
    submission: Annotated[str, typer.Argument(metavar="ID", help="The submission's id.", show_default=False)],
) -> None:
    """Has a submission scored again."""
    _set_up()
    from django.core.exceptions import ValidationError

    from capeval_server.organising import moderation
    from capeval_server.submissions.models import Submission

    try:
        found = Submission.objects.get(pk=submission)
    except (Submission.DoesNotExist, ValidationError):
        raise OptionError(f"'ID' must be the id of a submission (got {submission!r})") from None
    moderation.rerun(None, found.challenge, found)
    print(f"{submission}: waits to be scored again")


@app.command()
def organiser(
    slug: Slug,
    user: User,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the user from the organisers.")] = False,
) -> None:
    """Makes a user an organiser of a challenge, who manages it on its pages."""
    _set_up()
    from capeval_server.organising import moderation

    challenge, found = _challenge(slug), _user(user)
    if remove:
        moderation.remove_organiser(None, challenge, found)
    else:
        moderation.add_organiser(None, challenge, user)
    print(f"{user}: {'no organiser' if remove else 'an organiser'} of {slug}")


@app.command()
def export(
    slug: Slug,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The zip to write.", show_default=False)],
) -> None:
    """Writes everything of a challenge to a zip, except references, email addresses and secrets."""
    _set_up()
    from capeval_server.organising.export import export as write

    challenge = _challenge(slug)
    with written_whole(path) as file:
        write(challenge, file)
    print(path)


def _user(name: str) -> Users:
    from django.contrib.auth.models import User as Users

    found = Users.objects.filter(username=name).first()
    if found is None:
        raise OptionError(f"'user' must be the name of a user (got {name!r})")
    return found


def _challenge(slug: str) -> Challenge:
    from capeval_server.challenges.models import Challenge as Challenges

    found = Challenges.objects.filter(slug=slug).first()
    if found is None:
        raise OptionError(f"'CHALLENGE' must be the name of a challenge (got {slug!r})")
    return found


@app.command()
def tidy() -> None:
    """Deletes stored files that nothing uses and that are older than a day; idle workers do so every hour."""
    _set_up()
    from capeval_server.submissions.tidying import tidy as tidied

    print(f"{tidied()} files deleted")
