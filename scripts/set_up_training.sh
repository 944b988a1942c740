#!/bin/sh
# Makes the virtual environment of all tests that need PyTorch, those of training and of the baselines, or says
# plainly what is missing.
# Usage: set_up_training.sh FOLDER debian|pypi
#   debian: Debian's PyTorch, a build for processors alone (158 MB to fetch, 690 MB installed)
#   pypi:   the newest PyTorch, with what it brings for graphics cards (2.9 GB to fetch, 5.5 GB installed)
set -eu
venv=$1
torch=$2
. "$(dirname "$0")/steps.sh"

case $torch in
debian)
    python=/usr/bin/python3
    if ! { "$python" -c "import torch" && "$python" -c "import venv, ensurepip"; } 2>/dev/null; then
        can_install || missing "Debian's packages python3-torch and python3-venv (or: TORCH=pypi)"
        echo "Installing Debian's PyTorch"
        install_debian python3-torch python3-venv || missing "python3-torch, which could not be installed"
    fi
    # Debian's PyTorch takes whatever BLAS is installed. The reference BLAS, which it brings, is several times slower.
    if ! ls /usr/lib/*/openblas-*/libblas.so.3 >/dev/null 2>&1; then
        { can_install && install_debian libopenblas0-serial; } ||
            echo "capeval: note: without OpenBLAS (Debian: libopenblas0-serial) the training tests take longer" >&2
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
