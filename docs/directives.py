"""Sphinx directives for tables of metrics, studies and campaign options."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from itertools import groupby
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any, get_origin, get_type_hints

from click import Context
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from capeval.cli.app import app as capeval_group
from capeval.cli.studies import app as studies_group
from capeval.cli.studies import find_studies
from capeval.cli.toolkit.click_commands import Command, Group
from capeval.metrics import CLASSES, METRICS
from capeval_server.annotation.core.options import QUALITY_SETTINGS, CampaignOptions
from capeval_server.annotation.task_types import TASKS

# Common modules of the studies; their public names are documented with the package.
PARTS = re.compile(
    r"^(compute|options|command|abstract50s|agreement|benchmarks|counts|curves|figure|given_metrics|halves"
    r"|intervals|judgments|observations|pairs|registry|scoring|system_wins|system_words|tagging|word_classes)$"
    r"|(report|parts|tables|figures)$"
)


class RegisteredMetrics(SphinxDirective):
    """The classes of all registered metrics, with their options."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of an `autoclass` directive for each class."""
        return self.parse_text_to_nodes("\n".join(f".. autoclass:: capeval.{name}" for name in CLASSES))


def _values(about: Mapping[str, Any]) -> str:
    """Return the allowed values of an option."""
    if "enum" in about:
        return ", ".join(f"`{value}`" for value in about["enum"])
    if "maximum" in about:
        least = about["minimum"] if "minimum" in about else f"more than {about['exclusiveMinimum']}"
        return f"{least} to {about['maximum']}"
    return {"boolean": "`true`, `false`", "string": "text"}[about["type"]]


def _default(name: str, kinds: list[str]) -> str:
    """Return the default of an option, with deviating defaults by task type."""
    values = {kind: getattr(CampaignOptions.of_kind(kind), name) for kind in kinds}
    usual = Counter(values.values()).most_common(1)[0][0]
    shown = {value: f"`{json.dumps(value)}`" for value in values.values()}
    others = [f"`{kind}`: {shown[value]}" for kind, value in values.items() if value != usual]
    return "; ".join([shown[usual], *others])


def options_tables() -> str:
    """Return a Markdown table of the options of campaigns for each group."""
    lines: list[str] = []
    for group, options in groupby(CampaignOptions.described().items(), lambda option: option[1]["group"]):
        lines += [
            "",
            f"**{group}**",
            "",
            "| Setting | Meaning | Values | Default |",
            "| --- | --- | --- | --- |",
        ]
        for name, about in options:
            kinds = [kind for kind, task in TASKS.items() if name in CampaignOptions.described(task)]
            meaning = f"**{about['title']}**. {about['description']}"
            if len(kinds) < len(TASKS):
                meaning += f" Only for {', '.join(f'`{kind}`' for kind in kinds)}."
            if name in QUALITY_SETTINGS:
                meaning += " Quality setting."
            lines.append(f"| `{name}` | {meaning} | {_values(about)} | {_default(name, kinds)} |")
    return "\n".join(lines)


class CampaignOptionsTables(SphinxDirective):
    """The settings of campaigns, as declared by the server."""

    def run(self) -> list[nodes.Node]:
        """Return one table per group."""
        return self.parse_text_to_nodes(options_tables())


class MetricTable(SphinxDirective):
    """A table of all metrics: page, first sentence of the docstring, score names."""

    def run(self) -> list[nodes.Node]:
        """Return the table, with one row per class."""
        rows = [
            ".. list-table::",
            "   :header-rows: 1",
            "",
            "   * - Metric",
            "     - Compares",
            "     - Scores",
        ]
        for metric in CLASSES.values():
            makers = (make for make in METRICS.values() if isinstance(make(), metric))
            names = list(dict.fromkeys(name for make in makers for name in make().names))
            scores = f"{names[0]}, {names[1]} to {names[-1]}" if len(names) > 4 else ", ".join(names)
            sentence = (metric.__doc__ or "").split("\n\n")[0].rstrip(".")
            rows += [
                f"   * - :doc:`{metric.family} <{metric.docs_page}>`",
                f"     - {sentence}",
                f"     - {scores}",
            ]
        return self.parse_text_to_nodes("\n".join(rows))


def import_package(name: str) -> ModuleType:
    """Return the package of a study."""
    return import_module(find_studies()[name].removesuffix(".command"))


def study_modules(name: str) -> list[str]:
    """Return the package of a study and its modules in the API reference."""
    package = import_package(name)
    modules = [each.name for each in iter_modules(package.__path__) if not PARTS.search(each.name)]
    return [package.__name__, *(f"{package.__name__}.{each}" for each in modules)]


class RegisteredStudies(SphinxDirective):
    """The public names of all studies, with a section for each."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each study: its package, and its modules not in `PARTS`."""
        lines = []
        for name in studies_group.list_commands(Context(studies_group)):
            package = import_package(name)
            # autodoc sees lazily imported names only after they have been accessed.
            vars(package).update({each: getattr(package, each) for each in getattr(package, "__all__", ())})
            title = (package.__doc__ or name).partition("\n")[0].partition(" (")[0].rstrip(".")
            lines += [title, "-" * len(title), ""]
            for module in study_modules(name):
                lines += [f".. automodule:: {module}", "   :members:", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def options_table(command: Command) -> list[str]:
    """Return a table with one row per argument and option, with the text of the help."""
    lines = [".. list-table::", "   :header-rows: 1", "", "   * - Option", "     - Description"]
    for rows in command.help_rows(Context(command)).values():
        for name, text in rows:
            lines += [f"   * - ``{name}``", f"     - {text.replace('*', chr(92) + '*')}"]
    return [*lines, ""]


class StudyOptions(SphinxDirective):
    """The arguments and options of a study's command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table of options."""
        command = studies_group.get_command(Context(studies_group), self.arguments[0])
        if not isinstance(command, Command):
            raise self.error(f"unknown study {self.arguments[0]!r}")
        return self.parse_text_to_nodes("\n".join(options_table(command)))


class CommandReference(SphinxDirective):
    """The commands of capeval: description, usage, options and examples."""

    def run(self) -> list[nodes.Node]:
        """Return one section per command, also of groups such as `resources`."""
        lines = []
        for name, command in list_commands(capeval_group, "capeval"):
            context = Context(command, info_name=name)
            usage = f"{name} {' '.join(command.collect_usage_pieces(context))}"
            lines += [name, "-" * len(name), "", inspect.cleandoc(command.help or ""), ""]
            lines += [".. code-block:: text", "", f"   {usage}", ""]
            lines += options_table(command)
            if command.epilog:
                lines += [".. code-block:: text", ""]
                lines += [f"   {line}" for line in inspect.cleandoc(command.epilog).splitlines()] + [""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def list_commands(group: Group, prefix: str) -> Iterator[tuple[str, Command]]:
    """Yield capeval's own commands by full name, without studies and plug-ins."""
    for name in group.list_commands(Context(group)):
        command = group.get_command(Context(group), name)
        if isinstance(command, Group):
            if command is not studies_group and name in group.find_modules():
                yield from list_commands(command, f"{prefix} {name}")
        elif isinstance(command, Command):
            yield f"{prefix} {name}", command


def show_types_only(_: Sphinx, function: object, __: bool) -> None:
    """Show only the types of options in signatures, without their descriptions."""
    if inspect.isfunction(function) and Annotated in map(get_origin, _hints(function).values()):
        function.__annotations__ = get_type_hints(function)


def describe_fields(_: Sphinx, what: str, __: str, found: object, ___: object, lines: list[str]) -> None:
    """Add the descriptions of options to the docstring of their dataclass."""
    if what == "class" and isinstance(found, type) and is_dataclass(found):
        hints = _hints(found)
        if hints and all(get_origin(hint) is Annotated for hint in hints.values()):
            lines += ["", *(f":param {each}: {hint.__metadata__[-1].help}" for each, hint in hints.items())]


def _hints(found: object) -> dict[str, Any]:
    try:
        return get_type_hints(found, include_extras=True)
    except (NameError, TypeError):
        # The types are imported only for type checkers.
        return {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and event handlers."""
    app.add_directive("registered-metrics", RegisteredMetrics)
    app.add_directive("campaign-options", CampaignOptionsTables)
    app.add_directive("metric-table", MetricTable)
    app.add_directive("registered-studies", RegisteredStudies)
    app.add_directive("study-options", StudyOptions)
    app.add_directive("command-reference", CommandReference)
    app.connect("autodoc-before-process-signature", show_types_only)
    app.connect("autodoc-process-docstring", describe_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
