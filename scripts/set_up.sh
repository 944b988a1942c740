#!/bin/sh
# Makes the virtual environment with everything that the recipes need, or says plainly what is missing.
# Usage: set_up.sh FOLDER
set -eu
venv=$1
. "$(dirname "$0")/steps.sh"

command -v python3 >/dev/null || missing "python3, version 3.11 or newer"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    missing "python3 of version 3.11 or newer (found $(python3 --version 2>&1))"
python3 -c 'import venv, ensurepip' 2>/dev/null ||
    missing "Python's venv module (Debian: apt-get install python3-venv)"
command -v cargo >/dev/null || missing "cargo, the Rust toolchain: see https://rustup.rs"
command -v cc >/dev/null || missing "a C linker, cc (Debian: apt-get install gcc)"
command -v java >/dev/null ||
    echo "capeval: note: no java here: comparisons with the reference's Java tools will be left out" >&2

command -v mvn >/dev/null ||
    echo "capeval: note: no mvn here: SPICE's model can't be fetched, and its tests may be left out" >&2

echo "Installing dependencies into $venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# Dependency groups need pip 25.1.
"$venv/bin/python" -m pip install --quiet --constraint constraints.txt --upgrade pip
"$venv/bin/python" -m pip install --quiet --constraint constraints.txt --group dev
# The native module, which the recipe of .native builds, completes capeval.
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable server --editable decoding
