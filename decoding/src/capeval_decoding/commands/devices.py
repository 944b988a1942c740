"""Validation of the PyTorch device."""

from __future__ import annotations

from capeval.errors import OptionError
from capeval.toolkit import make_missing_package_error

__all__ = ["check_device"]


def check_device(name: str) -> str:
    """Return the device name after checking that PyTorch can use it on this machine.

    Raises:
        DependencyError: PyTorch is not installed.
        OptionError: The device is not available.
    """
    try:
        import torch
    except ImportError as error:
        raise make_missing_package_error("this command needs", error) from None
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise OptionError(
            f"'device' must be available on this machine, such as 'cpu' (got {name!r}: {reason})"
        ) from None
    return name
