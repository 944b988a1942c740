"""Settings of the server from environment variables.

Functions raise `ImproperlyConfigured` for a variable that is not valid, with its name and expected form.
Messages contain no value that may hold a password.
"""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.http.request import validate_host

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
    "remember_address",
    "rotate_key",
    "secret_key",
    "text",
    "token",
    "words",
]

PREFIX = "CAPEVAL_SERVER_"
_LEAST_TOKEN = 16
_FILES = "the absolute path of a folder, or s3://BUCKET/FOLDER"
_KEY, _EARLIER_KEY, _ADDRESS = "secret-key", "secret-key.earlier", "address"
# A host that loses its network sends nothing, not even the end of its connections. After half a minute
# without a sign of the other side, both sides close the connection: workers, to retry, and PostgreSQL, to
# release a worker's row locks before its lease expires.
_TIMEOUT_SECONDS = 30
_KEEPALIVE_IDLE, _KEEPALIVE_INTERVAL, _KEEPALIVE_COUNT = 15, 5, 3


def data_folder() -> Path:
    """Return the data folder, `CAPEVAL_SERVER_DATA`, which only its user can open."""
    folder = Path(text("DATA", "capeval-server")).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        try:
            folder.chmod(0o700)
        except PermissionError:
            raise ImproperlyConfigured(
                f"{PREFIX}DATA must be a folder that only its user can open: chmod 700 {folder}"
            ) from None
    return folder


def _require(valid: bool, name: str, expected: str, given: str | None = None) -> None:
    """Raise `ImproperlyConfigured` unless a variable is valid.

    Pass its value, which the message quotes, only if it can't contain a secret.
    """
    if not valid:
        got = "a different form" if given is None else repr(given)
        raise ImproperlyConfigured(f"{PREFIX}{name} must be {expected} (got {got})")


def address(folder: Path, hosts: list[str], *, https: bool) -> str:
    """Return the site's URL: `CAPEVAL_SERVER_ADDRESS`, or the first host name.

    Without HTTPS, the default is the address that `remember_address` stored in the data folder.
    """
    given = os.environ.get(f"{PREFIX}ADDRESS")
    if given is None:
        # `*` stands for any host, and `.example.org` includes its subdomains.
        host = next((host.lstrip(".") for host in hosts if host != "*"), "localhost")
        return f"https://{host}" if https else _read_address(folder, hosts) or f"http://{host}:8000"
    site = given.rstrip("/")
    _require(_is_site(site), "ADDRESS", "http://HOST:PORT or https://HOST, without a path", given)
    return site


def _read_address(folder: Path, hosts: list[str]) -> str:
    """Return the stored address if it is one of the hosts, or ""."""
    try:
        found = (folder / _ADDRESS).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    host = urlsplit(found).netloc.rpartition(":")[0] if _is_site(found) else ""
    return found if host and validate_host(host, hosts) else ""


def remember_address(folder: Path, site: str) -> None:
    """Store the address of a server that starts, for the commands and workers that share its data folder."""
    made = folder / f".{_ADDRESS}.{secrets.token_hex(8)}"
    made.write_text(site, encoding="utf-8")
    made.replace(folder / _ADDRESS)


def _is_site(given: str) -> bool:
    """Return whether a text is `http://HOST:PORT` or `https://HOST`, and nothing else."""
    try:
        parts = urlsplit(given)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return valid and given == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc


def flag(name: str, default: str = "0") -> bool:
    """Return whether a setting is on."""
    value = text(name, default)
    _require(value in ("0", "1"), name, "0 or 1", value)
    return value == "1"


def choice(name: str, known: tuple[str, ...]) -> str:
    """Return one of several words; by default the first."""
    value = text(name, known[0])
    _require(value in known, name, f"one of {', '.join(known)}", value)
    return value


def token(name: str) -> str:
    """Return a secret that programs must send and nobody can guess; by default ""."""
    value = text(name, "")
    valid = len(value) >= _LEAST_TOKEN and value.isascii() and value.isprintable() and " " not in value
    _require(valid or not value, name, f"at least {_LEAST_TOKEN} letters, digits or symbols, without spaces")
    return value


def number(name: str, default: int, *, least: int = 1) -> int:
    """Return an integer."""
    value = text(name, str(default))
    expected = "a positive integer" if least == 1 else f"an integer of at least {least}"
    _require(value.isdecimal() and int(value) >= least, name, expected, value)
    return int(value)


def text(name: str, default: str) -> str:
    """Return a text."""
    return os.environ.get(PREFIX + name, default)


def words(name: str, default: str) -> list[str]:
    """Return a comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def origins(name: str) -> list[str]:
    """Return a comma-separated list of origins."""
    found = words(name, "")
    expected = "a comma-separated list of addresses such as https://HOST or http://HOST:PORT, without a path"
    for origin in found:
        _require(_is_site(origin), name, expected, origin)
    return found


def secret_key(folder: Path) -> str:
    """Return the signing key: `CAPEVAL_SERVER_SECRET_KEY`, or one in the data folder.

    The key in the data folder is created once.
    """
    given = os.environ.get(f"{PREFIX}SECRET_KEY")
    if given:
        return given
    path = folder / _KEY
    if not path.exists():
        made = _create_key(folder)
        try:
            # If several processes start at once, one of them creates the key for all.
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return path.read_text(encoding="ascii")


def _create_key(folder: Path) -> Path:
    made = folder / f".{_KEY}.{secrets.token_hex(8)}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(64))
    return made


def earlier_keys(folder: Path) -> list[str]:
    """Return the previous keys; their signatures stay valid.

    They are `CAPEVAL_SERVER_EARLIER_SECRET_KEY`, or the previous key in the data folder.
    """
    given = os.environ.get(f"{PREFIX}EARLIER_SECRET_KEY")
    if given:
        return [given]
    path = folder / _EARLIER_KEY
    return [path.read_text(encoding="ascii")] if path.exists() else []


def rotate_key(folder: Path) -> None:
    """Create a new key in the data folder; the current key becomes the previous one.

    Raises:
        OSError: The folder is not writable; the key is unchanged.
    """
    secret_key(folder)
    made = _create_key(folder)
    kept = folder / f".{_EARLIER_KEY}.{secrets.token_hex(8)}"
    # A process that starts between the two steps finds the same key twice, but never none.
    os.link(folder / _KEY, kept)
    kept.replace(folder / _EARLIER_KEY)
    made.replace(folder / _KEY)


def forget_key(folder: Path) -> bool:
    """Delete the previous key, which ends its signatures; return whether it existed."""
    path = folder / _EARLIER_KEY
    found = path.exists()
    path.unlink(missing_ok=True)
    return found


def database(folder: Path) -> dict[str, Any]:
    """Return Django's settings for `CAPEVAL_SERVER_DATABASE`; by default SQLite.

    The SQLite file is in the data folder. The URL of a PostgreSQL database may end in options of PostgreSQL's
    clients, such as `?sslmode=verify-full`.
    """
    address = os.environ.get(f"{PREFIX}DATABASE")
    if address is None:
        return _get_sqlite_settings(folder / "capeval.sqlite3")
    parts = _parse_postgresql(address)
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{setting: parts.pop(name, "") for name, setting in names.items()},
        "OPTIONS": _get_timeout_options() | parts,
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": 60,
    }


def _get_timeout_options() -> dict[str, Any]:
    """Return options of PostgreSQL and its clients that end unresponsive connections."""
    server = {
        "tcp_keepalives_idle": _KEEPALIVE_IDLE,
        "tcp_keepalives_interval": _KEEPALIVE_INTERVAL,
        "tcp_keepalives_count": _KEEPALIVE_COUNT,
        "tcp_user_timeout": 1000 * _TIMEOUT_SECONDS,
    }
    return {
        "connect_timeout": 10,
        "keepalives_idle": _KEEPALIVE_IDLE,
        "keepalives_interval": _KEEPALIVE_INTERVAL,
        "keepalives_count": _KEEPALIVE_COUNT,
        "tcp_user_timeout": 1000 * _TIMEOUT_SECONDS,
        "options": " ".join(f"-c {name}={value}" for name, value in server.items()),
    }


def _parse_postgresql(address: str) -> dict[str, Any]:
    """Return the parts of a PostgreSQL database's URL.

    Raises:
        ImproperlyConfigured: The URL is invalid. The message has all problems, without parts that may be
            secret.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    server, _, query = address.partition("?")
    options, problems = _select_options(query)
    parts: dict[str, Any] = {}
    try:
        # With an @, the query may be the rest of a password that contains a question mark.
        if address.startswith(("postgresql://", "postgres://")) and "@" not in query:
            parts = dict(conninfo_to_dict(f"{server}?{'&'.join(options)}"))
    except ProgrammingError:
        pass
    if not parts:
        problems = ["a different form"]
    elif not parts.get("dbname"):
        problems.append("no name of the database")
    ports = str(parts.get("port") or "").split(",")
    if any(port and not (port.isdecimal() and 0 < int(port) < 2**16) for port in ports):
        problems.append("an invalid port")
    if problems:
        raise ImproperlyConfigured(
            f"{PREFIX}DATABASE must be postgresql://USER:PASSWORD@HOST:PORT/NAME?OPTION=VALUE, with options"
            f" of PostgreSQL's clients, such as sslmode (got {', '.join(problems)})"
        )
    return parts


def _select_options(query: str) -> tuple[list[str], list[str]]:
    """Return the options of PostgreSQL's clients in the query of a URL, and the problems of the others."""
    from psycopg.pq import Conninfo

    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    options, problems = [], []
    for option in filter(None, query.split("&")):
        name, equals, _ = option.partition("=")
        if equals and name in known:
            options.append(option)
        else:
            problems.append(f"the unknown option {name!r}" if equals else f"option {name!r} without a value")
    return options, problems


def files(given: str) -> dict[str, Any]:
    """Return Django's settings of the file storage, `CAPEVAL_SERVER_FILES`.

    The storage is a folder, or `s3://BUCKET/FOLDER` of an S3 store, configured by variables such as
    `AWS_ENDPOINT_URL_S3` and `AWS_ACCESS_KEY_ID`.
    """
    if "://" in given:
        return _object_store(given)
    _require(Path(given).is_absolute(), "FILES", _FILES, given)
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
    valid = parts.scheme == "s3" and bool(parts.netloc) and "@" not in parts.netloc
    _require(valid and not parts.query and not parts.fragment, "FILES", _FILES)
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            f'{PREFIX}FILES names an object store, which requires: pip install "capeval-server[s3]"'
        )
    return {
        "BACKEND": "capeval_server.core.object_store.ObjectStore",
        "OPTIONS": {"bucket_name": parts.netloc, "location": parts.path.strip("/")},
    }


def mail() -> dict[str, Any]:
    """Return Django's settings of the mail server, `CAPEVAL_SERVER_EMAIL`.

    By default, mail is written to the log. `smtps` uses TLS from the start. `smtp` uses STARTTLS if the URL
    has a username, and no TLS without one, as for a relay on the same machine.
    """
    address = os.environ.get(f"{PREFIX}EMAIL")
    if address is None:
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        # An empty URL, which is rejected below.
        parts, port = urlsplit(""), None
    host = parts.hostname or ""
    valid = parts.scheme in ("smtp", "smtps") and bool(host) and not parts.path.strip("/")
    _require(valid, "EMAIL", "smtp://USER:PASSWORD@HOST:PORT or smtps://...")
    secure = parts.scheme == "smtps"
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": unquote(host),
        "EMAIL_PORT": port or (465 if secure else 587 if parts.username else 25),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": secure,
        "EMAIL_USE_TLS": not secure and parts.username is not None,
        "EMAIL_TIMEOUT": 10,
    }


def _get_sqlite_settings(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            # Transactions take the write lock at the start, so that two can't both read and then write.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }
