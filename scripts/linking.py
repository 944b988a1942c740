"""Linking of capeval's wheels: the libraries that each needs, and the stable ABI of Python.

Run `python scripts/linking.py dist`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

__all__ = ["SYSTEM", "check_linking", "list_libraries"]

_POLICY = "manylinux_2_17"
SYSTEM = {
    "musllinux": ("libc.so",),
    "macosx": (
        "@rpath/capeval._native.abi3.so",
        "/System/Library/Frameworks/CoreFoundation.framework/*",
        "/usr/lib/libSystem.B.dylib",
        "/usr/lib/libcharset.1.dylib",
        "/usr/lib/libiconv.2.dylib",
    ),
    "win": (
        "advapi32.dll",
        "api-ms-win-*.dll",
        "bcryptprimitives.dll",
        "kernel32.dll",
        "msvcrt.dll",
        "ntdll.dll",
        "python3.dll",
        "userenv.dll",
        "ws2_32.dll",
    ),
}
"""Allowed libraries on each system, which all of its installations have."""


def check_linking(wheel: Path) -> Iterator[str]:
    """Yield errors in the libraries that a wheel needs, and in its use of Python's stable ABI."""
    system = next((name for name in SYSTEM if f"-{name}" in wheel.name), None)
    if system is None:
        output = " ".join(_run("auditwheel", "show", str(wheel)).split())
        if f'consistent with the following platform tag: "{_POLICY}_' not in output:
            yield f"{wheel.name} is not of {_POLICY}: {output}"
    else:
        for library in list_libraries(wheel):
            if not any(fnmatch(library.lower(), allowed.lower()) for allowed in SYSTEM[system]):
                yield f"{wheel.name} needs {library}, which some systems lack"
    output = " ".join(_run("abi3audit", "--summary", str(wheel)).split())
    if "0 ABI version mismatches and 0 ABI violations found" not in output:
        yield f"{wheel.name} does not keep to Python's stable ABI: {output}"


def list_libraries(wheel: Path) -> list[str]:
    """Return the names of the libraries that the native module of a wheel needs."""
    import lief

    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith((".so", ".pyd")))
        content = archive.read(name)
    lief.logging.disable()
    module = lief.parse(content)
    return [str(getattr(library, "name", library)) for library in module.libraries]


def _run(name: str, *arguments: str) -> str:
    program = Path(sys.executable).parent / name
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout + done.stderr


def main() -> None:
    """Print the libraries of all wheels in a folder; exit with 1 if there are errors."""
    parser = argparse.ArgumentParser(description="Check the linking of capeval's wheels.")
    parser.add_argument("folder", type=Path, help="folder with the wheels, such as dist")
    errors: list[str] = []
    for wheel in sorted(parser.parse_args().folder.glob("capeval-*.whl")):
        size = wheel.stat().st_size / 1e6
        print(f"{wheel.name} ({size:.1f} MB) needs {', '.join(list_libraries(wheel))}")  # noqa: T201
        errors += check_linking(wheel)
    if errors:
        sys.exit("\n".join(errors))


if __name__ == "__main__":
    main()
