"""Marker of constant texts that are translated when they are shown."""

__all__ = ["gettext_noop"]


def gettext_noop(message: str) -> str:
    """Return a text unchanged; `scripts/translations.py` adds it to the catalogs.

    Django's function of this name needs the settings, which modules of task types must not.

    Examples:
        >>> gettext_noop("A person")
        'A person'
    """
    return message
