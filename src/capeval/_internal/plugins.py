"""Registries of named values, which other distributions extend through entry points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from capeval.errors import CapevalWarning, OptionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["DuplicateNameError", "PluginGroup", "Registry"]

_Value = TypeVar("_Value")


class DuplicateNameError(OptionError):
    """A name that two distributions register."""


class PluginGroup:
    """The entry points of a group, loaded once.

    Searching for entry points takes longer than a whole command, so a registry asks for them only if a name
    is unknown, or to list all names.

    Args:
        group: The name of the group, such as `capeval.metrics`.
        adopt: Registers the object that an entry point names; by default, importing its module does that.
    """

    def __init__(self, group: str, adopt: Callable[[EntryPoint, object], None] | None = None) -> None:
        self.group = group
        self._adopt = adopt
        self._lock = RLock()
        self._is_loaded = False
        self._duplicate: DuplicateNameError | None = None
        self._loading: str | None = None

    def owner_of(self, module: str) -> str:
        """Return the distribution whose plug-in is being loaded; otherwise the package of a module."""
        return self._loading or module.partition(".")[0]

    def load(self) -> None:
        """Load all plug-ins. A `CapevalWarning` names the distribution of a plug-in that fails.

        Raises:
            DuplicateNameError: Two distributions register the same name.
        """
        with self._lock:
            if not self._is_loaded:
                # A plug-in that lists the names while it is loaded finds those that are there.
                self._is_loaded = True
                from importlib.metadata import entry_points

                for entry in entry_points(group=self.group):
                    self._load(entry)
        if self._duplicate is not None:
            raise self._duplicate

    def _load(self, entry: EntryPoint) -> None:
        distribution = entry.dist.name if entry.dist is not None else entry.module
        with self._named(distribution):
            try:
                loaded = entry.load()
                if self._adopt is not None:
                    self._adopt(entry, loaded)
            except DuplicateNameError as error:
                self._duplicate = self._duplicate or error
            except Exception as error:
                message = f"{distribution}: plug-in {entry.name!r} of {self.group} can't be loaded"
                warnings.warn(f"{message}: {type(error).__name__}: {error}", CapevalWarning, stacklevel=4)

    @contextmanager
    def _named(self, distribution: str) -> Iterator[None]:
        self._loading = distribution
        try:
            yield
        finally:
            self._loading = None


class Registry(Mapping[str, _Value]):
    """Values by name: those of capeval, then those of plug-ins.

    Args:
        kind: The values in messages, such as `metric`.
        plugins: The plug-ins that may register more of them.
    """

    def __init__(self, kind: str, plugins: PluginGroup) -> None:
        self._kind = kind
        self._plugins = plugins
        self._values: dict[str, _Value] = {}
        # Names are compared without case. Each has its spelling and its distribution.
        self._names: dict[str, tuple[str, str]] = {}

    def check(self, names: Iterable[str], module: str) -> None:
        """Check that names are new, in upper and lower case.

        Args:
            names: The names to register.
            module: The module that registers them.

        Raises:
            DuplicateNameError: A name is registered already.
        """
        for name in names:
            if name.lower() in self._names:
                taken, owner = self._names[name.lower()]
                got = f"{name!r} from {self._plugins.owner_of(module)}, and {taken!r} from {owner}"
                raise DuplicateNameError(
                    f"a {self._kind}'s name must be new (got {got}): rename or uninstall one of them"
                )

    def add(self, values: Mapping[str, _Value], module: str) -> None:
        """Register values by name, all or none.

        Args:
            values: The values by name.
            module: The module that registers them.

        Raises:
            DuplicateNameError: A name is registered already.
        """
        self.check(values, module)
        owner = self._plugins.owner_of(module)
        self._names.update({name.lower(): (name, owner) for name in values})
        self._values.update(values)

    def spelling(self, name: str) -> str | None:
        """Return a registered name as it was registered; None if there is none.

        Args:
            name: The name in upper or lower case.
        """
        if name.lower() not in self._names:
            self._plugins.load()
        found = self._names.get(name.lower())
        return None if found is None else found[0]

    def registered(self) -> tuple[_Value, ...]:
        """Return the values that are registered so far, without loading plug-ins."""
        return tuple(self._values.values())

    def __getitem__(self, name: str) -> _Value:
        if name not in self._values:
            self._plugins.load()
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        self._plugins.load()
        return iter(tuple(self._values))

    def __len__(self) -> int:
        self._plugins.load()
        return len(self._values)
