#!/bin/sh
# Makes the virtual environment of all tests that need PyTorch, those of training and of the baselines, or says
# plainly what is missing.
# Usage: set_up_training.sh FOLDER debian|pypi
#   debian: Debian's PyTorch, a build for processors alone (151 MB to fetch, 650 MB installed)
#   pypi:   the newest PyTorch, with what it brings for graphics cards (2.9 GB to fetch, 5.5 GB installed)
set -eu
venv=$1
torch=$2
missing() {
    echo "capeval: missing: $1" >&2
    exit 1
}

# A download that breaks is tried again, three times in all.
tried() {
    for attempt in 1 2 3; do
        if "$@"; then return 0; fi
        echo "capeval: note: attempt $attempt failed: $*" >&2
        sleep $((attempt * 5))
    done
    return 1
}

case $torch in
debian)
    python=/usr/bin/python3
    if ! { "$python" -c "import torch" && "$python" -c "import venv, ensurepip"; } 2>/dev/null; then
        command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
            missing "Debian's packages python3-torch and python3-venv (or: TORCH=pypi)"
        echo "Installing Debian's PyTorch"
        export DEBIAN_FRONTEND=noninteractive
        log=$(mktemp)
        tried apt-get update >"$log" 2>&1 &&
            tried apt-get install -y --no-install-recommends python3-torch python3-venv >>"$log" 2>&1 ||
            { tail -5 "$log" >&2; missing "python3-torch, which could not be installed"; }
        rm "$log"
    fi
    options="--system-site-packages"
    packages="--constraint constraints-training.txt"
    ;;
pypi)
    python=python3
    options=""
    packages="torch"
    ;;
*) missing "TORCH must be debian or pypi (got $torch)" ;;
esac

echo "Installing what the tests with PyTorch need into $venv"
rm -rf "$venv"
# Words of an option, which must be split, here and below.
# shellcheck disable=SC2086
"$python" -m venv $options "$venv"
# shellcheck disable=SC2086
tried "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $packages \
    torchmetrics evaluate jieba transformers h5py pytest click filelock numpy platformdirs rich ||
    missing "packages that could not be installed"
