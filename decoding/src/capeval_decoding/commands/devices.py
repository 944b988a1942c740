"""The device that PyTorch computes on."""

from __future__ import annotations

from capeval.errors import OptionError
from capeval.toolkit import missing_package

__all__ = ["checked_device"]


def checked_device(name: str) -> str:
    """The name of a device that PyTorch can use here.

    Raises:
        DependencyError: PyTorch is not installed.
        OptionError: There is no such device.
    """
    try:
        import torch
    except ImportError as error:
        raise missing_package("this command needs", error) from None
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise OptionError(
            f"'device' must be a device of this machine, such as cpu (got {name!r}: {reason})"
        ) from None
    return name
