"""The `capeval resources` commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from capeval.cli.commands import frequencies
from capeval.cli.toolkit.click_commands import Command, Group, Option, parameters
from capeval.cli.toolkit.options import FormatOption
from capeval.cli.toolkit.output import Steps, deliver, examples, render
from capeval.errors import OptionError, ResourceError

if TYPE_CHECKING:
    from capeval.metrics import Resource
    from capeval.report import Grid
    from capeval.resources.compiled_files import CompiledResource
    from capeval.resources.parse_store import ParseStore

__all__ = ["app"]

_Row = dict[str, str | int | None]


def run(form: FormatOption = "table") -> None:
    """List metric resources with status, size, source and path, or how to install them."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    rows = [*_list_resources(), _describe_parses()]
    if form == "json":
        deliver(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", None)
        return
    render(_create_table(rows, with_paths=form != "table"), form, None)


def _create_table(rows: Sequence[_Row], *, with_paths: bool) -> Grid:
    """Create the table of resources, with paths and instructions in columns or below the table."""
    from capeval.report import Cell, Grid

    columns = {"name": "Resource", "status": "Status", "bytes": "Size", "fingerprint": "Fingerprint"}
    if with_paths:
        columns |= {"source": "Source", "path": "Path", "missing": "How to install"}
    cells = tuple(tuple(Cell(value=_format_value(row[key])) for key in columns) for row in rows)
    notes = [f"{row['name']}: {row['missing'] or _describe_place(row)}" for row in rows]
    return Grid(columns=tuple(columns.values()), rows=cells, notes=() if with_paths else tuple(notes))


def _describe_place(row: _Row) -> str:
    path = _shorten_home(str(row["path"]))
    return f"{path} (from {row['source']})" if row["source"] else path


def _shorten_home(path: str) -> str:
    """Return a path with `~` for the user's home folder."""
    # There is no home folder if neither the environment nor the system names one.
    with suppress(RuntimeError, ValueError):
        return str("~" / Path(path).relative_to(Path.home()))
    return path


def meteor(
    again: Annotated[bool, Option(help="Rebuild the tables if they exist.")] = False,
) -> None:
    """Build METEOR's word tables from the installed pycocoevalcap.

    Scoring with METEOR also builds missing tables. The environment variable CAPEVAL_CACHE sets their folder.
    The package capeval-meteor-data contains them: pip install "capeval[meteor]".
    """
    from capeval.resources.compiled_files import cache_folder
    from capeval.resources.meteor import ensure_tables, find_tables

    if again or find_tables() is None:
        with Steps(1) as steps:
            steps.next("Building METEOR's word tables")
            ensure_tables(cache_folder(), again=again)
    _deliver_found(find_tables())


def spice(
    jars: Annotated[
        Path | None,
        Option(
            "--from",
            metavar="PATH",
            help="CoreNLP's models jar, or a folder with the reference implementation's jars.",
            show_default="pycocoevalcap, then Maven",
        ),
    ] = None,
    again: Annotated[bool, Option(help="Rebuild the model if it exists.")] = False,
) -> None:
    """Build SPICE's model from the jars of the reference implementation.

    The jars are looked up in the installed pycocoevalcap and in the local Maven repository. If Maven is
    installed, it downloads missing jars (378 MB). No Java code of the jars is run. The package
    capeval-spice-model contains the model: pip install "capeval[spice]".
    """
    from capeval.resources.spice import ensure_model, find_model

    again = again or jars is not None
    if again or find_model() is None:
        with Steps(1) as steps:
            steps.next("Building SPICE's model")
            ensure_model(jars, fetch=True, again=again)
    _deliver_found(find_model())


def parses(
    clear: Annotated[bool, Option(help="Delete all parses.")] = False,
) -> None:
    """Show the path, number of parses and size of the parse cache.

    The file can be copied to a different machine. The environment variable CAPEVAL_STORE sets its folder, or
    disables the cache with the value `off`.
    """
    from capeval.cli.toolkit.resource_setup import STORE

    store = _get_store()
    if store is None:
        raise OptionError(f"the parse cache is disabled; set {STORE} to a folder, or unset it (got 'off')")
    if clear and store.path.exists():
        store.clear()
        deliver(f"{store.path}: deleted\n", None)
        return
    if damaged := store.count_damaged():
        raise ResourceError(
            f"{damaged:,} of {len(store):,} parses in {store.path} are damaged; delete the file with"
            " `capeval resources parses --clear`"
        )
    deliver(f"{store.path}: {_describe_store(store)}\n", None)


def _deliver_found(found: CompiledResource | None) -> None:
    assert found is not None  # noqa: S101 - it was built or found before.
    deliver(f"{found.path}: {_format_file_size(found.path)}, fingerprint {found.fingerprint}\n", None)


def _list_resources() -> list[_Row]:
    from capeval.metrics import METRICS

    needs = dict.fromkeys(resource for make in METRICS.values() for resource in make().resources)
    rows: list[_Row] = []
    for resource in needs:
        found = resource.found()
        rows.append(
            {
                "name": resource.name,
                "status": "available" if found else "not built" if resource.can_build() else "not installed",
                "path": None if found is None else str(found.path),
                "bytes": None if found is None else found.path.stat().st_size,
                "fingerprint": None if found is None else found.fingerprint,
                "source": None if found is None else found.source,
                "missing": _describe_missing(resource) if found is None else None,
            }
        )
    return rows


def _describe_missing(resource: Resource) -> str:
    if resource.can_build():
        return "built when a metric needs it"
    return resource.install


def _describe_parses() -> _Row:
    store = _get_store()
    there = store is not None and store.path.exists()
    if store is None:
        status, missing = "off", "switched off"
    elif not there:
        status, missing = "empty", "none yet"
    elif _is_usable(store):
        status, missing = "available", None
    else:
        status, missing = "damaged", "delete it with `capeval resources parses --clear`"
    return {
        "name": "parsed captions",
        "status": status,
        "path": None if store is None else str(store.path),
        "bytes": store.path.stat().st_size if there and store is not None else None,
        "fingerprint": None,
        "source": None,
        "missing": missing,
    }


def _is_usable(store: ParseStore) -> bool:
    try:
        len(store)
    except ResourceError:
        return False
    return True


def _get_store() -> ParseStore | None:
    from capeval.cli.toolkit.resource_setup import store_folder
    from capeval.resources.spice import store_in

    folder = store_folder()
    return None if folder is None else store_in(folder)


def _describe_store(store: ParseStore) -> str:
    if not store.path.exists():
        return "no parses"
    return f"{len(store):,} parses, {_format_file_size(store.path)} of at most {store.limit / 1e6:,.0f} MB"


def _format_file_size(path: Path) -> str:
    return _format_megabytes(path.stat().st_size)


def _format_megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _format_value(value: str | int | None) -> str | None:
    return _format_megabytes(value) if isinstance(value, int) else value


app = Group(
    name="resources",
    callback=run,
    params=parameters(run),
    invoke_without_command=True,
    help="Show and build metric resources (METEOR tables, SPICE model, parse cache, document frequencies).",
    epilog=examples(
        "capeval resources",
        "capeval resources meteor",
        "capeval resources spice",
        "capeval resources parses --clear",
    ),
    commands=[
        Command(meteor, "meteor", examples("capeval resources meteor", "capeval resources meteor --again")),
        Command(spice, "spice", examples("capeval resources spice", "capeval resources spice --from jars")),
        Command(parses, "parses", examples("capeval resources parses", "capeval resources parses --clear")),
        Command(frequencies.run, "frequencies", frequencies.EXAMPLES),
    ],
)
