"""Registries of named values that other distributions extend through entry points."""

from __future__ import annotations

import sys
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
    """Two distributions register the same name."""


class PluginGroup:
    """The entry points of a group, loaded once.

    Finding entry points takes longer than a typical command, so a registry loads them only if a name is
    unknown or all names are listed.

    Args:
        group: The name of the group, such as `capeval.metrics`.
        adopt: Registers the object of an entry point. By default, the imported module registers it.
    """

    def __init__(self, group: str, adopt: Callable[[EntryPoint, object], None] | None = None) -> None:
        self.group = group
        self._adopt = adopt
        self._lock = RLock()
        self._is_loaded = False
        self._duplicate: DuplicateNameError | None = None
        self._loading: str | None = None
        # The packages that registered a name, and whether the plug-in being loaded is one of them.
        self._packages: set[str] = set()
        self._has_registered = False

    def get_owner(self, module: str) -> str:
        """Return the distribution of the plug-in being loaded, or else a module's package."""
        return self._loading or module.partition(".")[0]

    def record(self, module: str) -> None:
        """Record that a module registered a name."""
        self._packages.add(module.partition(".")[0])
        self._has_registered = True

    def load(self) -> None:
        """Load all plug-ins, with a `CapevalWarning` for each one that fails or registers nothing.

        The warning names the distribution of the plug-in.

        Raises:
            DuplicateNameError: Two distributions register the same name.
        """
        with self._lock:
            if not self._is_loaded:
                # Set first: a plug-in that lists the names while it is loaded sees those registered so far.
                self._is_loaded = True
                from importlib.metadata import entry_points

                for entry in entry_points(group=self.group):
                    self._load(entry)
        if self._duplicate is not None:
            raise self._duplicate

    def _load(self, entry: EntryPoint) -> None:
        distribution = entry.dist.name if entry.dist is not None else entry.module
        plugin = f"{distribution}: plug-in {entry.name!r} of {self.group}"
        # A module that was imported before registered its names then.
        is_imported = entry.module in sys.modules
        self._has_registered = is_imported and entry.module.partition(".")[0] in self._packages
        with self._set_loading(distribution):
            try:
                loaded = entry.load()
                if self._adopt is not None:
                    self._adopt(entry, loaded)
                elif not self._has_registered:
                    message = f"{plugin} registers nothing; decorate its classes with @register"
                    warnings.warn(message, CapevalWarning, stacklevel=4)
            except DuplicateNameError as error:
                self._duplicate = self._duplicate or error
            except (Exception, SystemExit) as error:
                # The module of a plug-in can raise any exception when it is imported.
                message = f"{plugin} can't be loaded: {type(error).__name__}: {error}"
                warnings.warn(message, CapevalWarning, stacklevel=4)

    @contextmanager
    def _set_loading(self, distribution: str) -> Iterator[None]:
        self._loading = distribution
        try:
            yield
        finally:
            self._loading = None


class Registry(Mapping[str, _Value]):
    """Values by name: capeval's own values, followed by the values of plug-ins.

    Args:
        kind: Name of a value in messages, such as `metric`.
        plugins: The plug-ins that may register more values.
    """

    def __init__(self, kind: str, plugins: PluginGroup) -> None:
        self._kind = kind
        self._plugins = plugins
        self._values: dict[str, _Value] = {}
        # Registered spelling and distribution by normalized name.
        self._names: dict[str, tuple[str, str]] = {}

    @staticmethod
    def normalize(name: str) -> str:
        """Return the form in which names are compared: names are case-insensitive."""
        return name.lower()

    def check(self, names: Iterable[str], module: str) -> None:
        """Validate that normalized names are new.

        Args:
            names: The names to register.
            module: The module that registers them.

        Raises:
            DuplicateNameError: A name is registered already.
        """
        for name in names:
            if self.normalize(name) in self._names:
                taken, owner = self._names[self.normalize(name)]
                got = f"{name!r} from {self._plugins.get_owner(module)}, {taken!r} from {owner}"
                raise DuplicateNameError(
                    f"duplicate {self._kind} name ({got}); rename or uninstall one of them"
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
        owner = self._plugins.get_owner(module)
        self._plugins.record(module)
        self._names.update({self.normalize(name): (name, owner) for name in values})
        self._values.update(values)

    def spelling(self, name: str) -> str | None:
        """Return the registered spelling of a name, or None if it is unknown.

        Args:
            name: The name, in any spelling.
        """
        key = self.normalize(name)
        if key not in self._names:
            self._plugins.load()
        found = self._names.get(key)
        return None if found is None else found[0]

    def registered(self) -> tuple[_Value, ...]:
        """Return the values registered so far, without loading plug-ins."""
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
