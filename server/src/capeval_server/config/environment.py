"""Settings of the server that come from environment variables."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

__all__ = [
    "address",
    "choice",
    "data_folder",
    "database",
    "earlier_keys",
    "files",
    "flag",
    "forget_key",
    "mail",
    "number",
    "origins",
    "rotate_key",
    "secret_key",
    "text",
    "token",
    "words",
]

PREFIX = "CAPEVAL_SERVER_"
_LEAST_TOKEN = 16
_KEY, _EARLIER_KEY = "secret-key", "secret-key.earlier"
# A host that is cut off sends nothing, not even the end of its connections. After half a minute without a
# sign of the other side, a connection is given up: by workers, so that they try again, and by PostgreSQL, so
# that the rows that a worker had locked are free before its lease ends.
_SILENT_SECONDS = 30
_ASKED_AFTER, _ASKED_AGAIN, _ASKED_TIMES = 15, 5, 3


def data_folder() -> Path:
    """The folder of everything that the server keeps: `CAPEVAL_SERVER_DATA`. Only its own user can open it.

    Raises:
        ImproperlyConfigured: Others can open it, and it belongs to another user.
    """
    folder = Path(os.environ.get(f"{PREFIX}DATA", "capeval-server")).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        try:
            folder.chmod(0o700)
        except PermissionError:
            raise ImproperlyConfigured(
                f"{PREFIX}DATA must be a folder that only its user can open: chmod 700 {folder}"
            ) from None
    return folder


def address(hosts: list[str], *, https: bool) -> str:
    """Where users find the site: `CAPEVAL_SERVER_ADDRESS`; by default the first host name of the server.

    Raises:
        ImproperlyConfigured: It is not the address of a site.
    """
    given = os.environ.get(f"{PREFIX}ADDRESS")
    if given is None:
        # `*` is any host, and `.example.org` also those below it.
        name = next((host.lstrip(".") for host in hosts if host != "*"), "localhost")
        return f"https://{name}" if https else f"http://{name}:8000"
    if not _is_site(given.rstrip("/")):
        raise ImproperlyConfigured(
            f"{PREFIX}ADDRESS must be http://HOST:PORT or https://HOST, without a path (got {given!r})"
        )
    return given.rstrip("/")


def _is_site(given: str) -> bool:
    """Whether a text is `http://HOST:PORT` or `https://HOST`, and nothing else."""
    try:
        parts = urlsplit(given)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return right and given == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc


def flag(name: str, default: str = "0") -> bool:
    """Whether a setting is on.

    Raises:
        ImproperlyConfigured: It is neither 0 nor 1.
    """
    value = os.environ.get(PREFIX + name, default)
    if value not in ("0", "1"):
        raise ImproperlyConfigured(f"{PREFIX}{name} must be 0 or 1 (got {value!r})")
    return value == "1"


def choice(name: str, known: tuple[str, ...]) -> str:
    """One of some words; the first by default.

    Raises:
        ImproperlyConfigured: It is another one.
    """
    value = os.environ.get(PREFIX + name, known[0])
    if value not in known:
        raise ImproperlyConfigured(f"{PREFIX}{name} must be one of {', '.join(known)} (got {value!r})")
    return value


def token(name: str) -> str:
    """A secret that programs must know; empty if there is none.

    Raises:
        ImproperlyConfigured: It can be guessed, or not be sent.
    """
    value = os.environ.get(PREFIX + name, "")
    if value and (
        len(value) < _LEAST_TOKEN or not value.isascii() or not value.isprintable() or " " in value
    ):
        # It is a secret, which has no place in a message.
        raise ImproperlyConfigured(
            f"{PREFIX}{name} must be at least {_LEAST_TOKEN} letters, digits or signs, without spaces"
        )
    return value


def number(name: str, default: int, *, least: int = 1) -> int:
    """Return a whole number.

    Raises:
        ImproperlyConfigured: It is something else, or less than `least`.
    """
    value = os.environ.get(PREFIX + name, str(default))
    if not value.isdecimal() or int(value) < least:
        wanted = "above 0" if least == 1 else f"of at least {least}"
        raise ImproperlyConfigured(f"{PREFIX}{name} must be a whole number {wanted} (got {value!r})")
    return int(value)


def text(name: str, default: str) -> str:
    """A text."""
    return os.environ.get(PREFIX + name, default)


def words(name: str, default: str) -> list[str]:
    """A list, with commas between."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def origins(name: str) -> list[str]:
    """Addresses of sites, with commas between.

    Raises:
        ImproperlyConfigured: One is not `http://HOST:PORT` or `https://HOST`.
    """
    found = words(name, "")
    for origin in found:
        if not _is_site(origin):
            raise ImproperlyConfigured(
                f"{PREFIX}{name} must be addresses such as https://HOST or http://HOST:PORT, without a path,"
                f" with commas between (got {origin!r})"
            )
    return found


def secret_key(folder: Path) -> str:
    """The key that signs: `CAPEVAL_SERVER_SECRET_KEY`, or one made once and kept in the data folder."""
    given = os.environ.get(f"{PREFIX}SECRET_KEY")
    if given:
        return given
    path = folder / _KEY
    if not path.exists():
        made = _new_key(folder)
        try:
            # Of several processes that start at once, one makes the key that all then read.
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return path.read_text()


def _new_key(folder: Path) -> Path:
    made = folder / f".{_KEY}.{secrets.token_hex(8)}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(64))
    return made


def earlier_keys(folder: Path) -> list[str]:
    """Keys whose signatures stay valid: `CAPEVAL_SERVER_EARLIER_SECRET_KEY`, or one in the data folder."""
    given = os.environ.get(f"{PREFIX}EARLIER_SECRET_KEY")
    if given:
        return [given]
    path = folder / _EARLIER_KEY
    return [path.read_text()] if path.exists() else []


def rotate_key(folder: Path) -> None:
    """Makes a new key in the data folder; the one before it becomes the earlier key.

    Raises:
        OSError: The folder can't be written to; the key is the one that it was.
    """
    secret_key(folder)
    made = _new_key(folder)
    kept = folder / f".{_EARLIER_KEY}.{secrets.token_hex(8)}"
    # A process that starts between the two steps finds the key twice, and never none.
    os.link(folder / _KEY, kept)
    kept.replace(folder / _EARLIER_KEY)
    made.replace(folder / _KEY)


def forget_key(folder: Path) -> bool:
    """Deletes the earlier key, so that what it signed is no longer valid; says whether there was one."""
    path = folder / _EARLIER_KEY
    found = path.exists()
    path.unlink(missing_ok=True)
    return found


def database(folder: Path) -> dict[str, Any]:
    """Django's settings of the database at `CAPEVAL_SERVER_DATABASE`; SQLite in the data folder by default.

    The address may end in options of PostgreSQL's clients, such as `?sslmode=verify-full`.

    Raises:
        ImproperlyConfigured: The address is not of PostgreSQL, or has an option that its clients don't know.
    """
    address = os.environ.get(f"{PREFIX}DATABASE")
    if address is None:
        return _sqlite(folder / "capeval.sqlite3")
    parts = _postgresql(address)
    if not parts.get("dbname"):
        # The address may hold a password, which has no place in a message.
        raise ImproperlyConfigured(
            f"{PREFIX}DATABASE must be postgresql://USER:PASSWORD@HOST:PORT/NAME?OPTION=VALUE, with options"
            " that PostgreSQL's clients know, such as sslmode (got another form)"
        )
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{setting: parts.pop(name, "") for name, setting in names.items()},
        "OPTIONS": _patience() | parts,
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": 60,
    }


def _patience() -> dict[str, Any]:
    """Options of PostgreSQL's clients, and of PostgreSQL itself, for connections that nobody answers on."""
    server = {
        "tcp_keepalives_idle": _ASKED_AFTER,
        "tcp_keepalives_interval": _ASKED_AGAIN,
        "tcp_keepalives_count": _ASKED_TIMES,
        "tcp_user_timeout": 1000 * _SILENT_SECONDS,
    }
    return {
        "connect_timeout": 10,
        "keepalives_idle": _ASKED_AFTER,
        "keepalives_interval": _ASKED_AGAIN,
        "keepalives_count": _ASKED_TIMES,
        "tcp_user_timeout": 1000 * _SILENT_SECONDS,
        "options": " ".join(f"-c {name}={value}" for name, value in server.items()),
    }


def _postgresql(address: str) -> dict[str, Any]:
    """The parts of the address of a PostgreSQL database; none of another address."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    if not address.startswith(("postgresql://", "postgres://")):
        return {}
    try:
        return dict(conninfo_to_dict(address))
    except ProgrammingError:
        return {}


def files(given: str) -> dict[str, Any]:
    """Django's settings of where files are kept, `CAPEVAL_SERVER_FILES`.

    That is a folder, or `s3://BUCKET/FOLDER` of a store that speaks S3. How that is reached is said by the
    variables that all clients of S3 read, such as `AWS_ENDPOINT_URL_S3` and `AWS_ACCESS_KEY_ID`.

    Raises:
        ImproperlyConfigured: It is neither, or what speaks S3 is not installed.
    """
    if "://" in given:
        return _object_store(given)
    if not Path(given).is_absolute():
        raise ImproperlyConfigured(
            f"{PREFIX}FILES must be the whole path of a folder, or s3://BUCKET/FOLDER (got {given!r})"
        )
    return {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": Path(given),
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
            "base_url": None,
        },
    }


def _object_store(given: str) -> dict[str, Any]:
    parts = urlsplit(given)
    if parts.scheme != "s3" or not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
        # It may hold a password, which has no place in a message.
        raise ImproperlyConfigured(
            f"{PREFIX}FILES must be the whole path of a folder, or s3://BUCKET/FOLDER (got another form)"
        )
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            f"{PREFIX}FILES names a store that needs: pip install 'capeval-server[s3]'"
        )
    return {
        "BACKEND": "capeval_server.core.object_store.ObjectStore",
        "OPTIONS": {"bucket_name": parts.netloc, "location": parts.path.strip("/")},
    }


def mail() -> dict[str, Any]:
    """Django's settings of the mail server at `CAPEVAL_SERVER_EMAIL`; by default mail goes to the log.

    `smtps` speaks TLS from the start. `smtp` does so before a password is sent (STARTTLS), and not at all
    without one, as to a relay on the same machine.

    Raises:
        ImproperlyConfigured: The address is not of a mail server.
    """
    address = os.environ.get(f"{PREFIX}EMAIL")
    if address is None:
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        # The parts of something else, which the next lines refuse.
        parts, port = urlsplit(""), None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path.strip("/"):
        # The address may hold a password, which has no place in a message.
        raise ImproperlyConfigured(
            f"{PREFIX}EMAIL must be smtp://USER:PASSWORD@HOST:PORT or smtps://... (got another form)"
        )
    secure = parts.scheme == "smtps"
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": unquote(parts.hostname),
        "EMAIL_PORT": port or (465 if secure else 587 if parts.username else 25),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": secure,
        "EMAIL_USE_TLS": not secure and parts.username is not None,
        "EMAIL_TIMEOUT": 10,
    }


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            # A transaction takes the write lock when it begins: two can't both read and then write.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }
