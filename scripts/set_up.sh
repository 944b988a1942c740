#!/bin/sh
# Creates the virtual environment for the recipes of the Makefile, or reports a missing prerequisite.
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
    echo "capeval: note: java is not installed; comparisons with the reference's Java tools will be skipped" >&2

command -v mvn >/dev/null ||
    echo "capeval: note: mvn is not installed; SPICE's model can't be downloaded, and its tests may be skipped" >&2

echo "Installing dependencies into $venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# Dependency groups require pip 25.1.
"$venv/bin/python" -m pip install --quiet --constraint constraints.txt --upgrade pip
install_python "$venv" constraints.txt --group dev
# capeval itself is installed with its native module by the recipe of .native.
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable server --editable decoding
