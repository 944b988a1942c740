"""Runs the command line, to which the commands of the baselines are added as by their entry point."""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from unittest import mock

from capeval.cli.app import app, main
from capeval_decoding.commands import app as baselines

# The environment of these tests does not have the package installed, whose entry points add the commands.
app.add_command(baselines)


def capeval(*arguments: str | Path, fails: bool = False, warns: bool = False) -> str:
    """Run a command; return its output, or its standard error if it fails or warns."""
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    code: object = 0
    given = ["capeval", *map(str, arguments)]
    with mock.patch.multiple(sys, argv=given, stdout=output, stderr=errors), warnings.catch_warnings():
        if warns:
            warnings.simplefilter("always")
        try:
            main()
        except SystemExit as exit_code:
            code = exit_code.code
        output.flush()
        written = output.buffer.getvalue().decode()
    assert code in ((2,) if fails else (0, None)), errors.getvalue()
    return errors.getvalue() if fails or warns else str(written)


if __name__ == "__main__":
    main()
