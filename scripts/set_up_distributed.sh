#!/bin/sh
# Makes the virtual environment of the tests of Ray, Spark, Dask, DuckDB and Polars, or says plainly what is missing.
# Usage: set_up_distributed.sh FOLDER
# 700 MB to fetch, 1.5 GB installed. Spark runs on Java 17 or newer.
set -eu
venv=$1
. "$(dirname "$0")/steps.sh"

if ! command -v java >/dev/null; then
    can_install || missing "Java 17 or newer, which Spark runs on"
    echo "Installing Java for Spark"
    install_debian openjdk-17-jre-headless || missing "openjdk-17-jre-headless, which could not be installed"
fi

echo "Installing Ray, Spark, Dask, DuckDB and Polars into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
tried "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints-distributed.txt \
    "ray[data]" pyspark "dask[distributed]" duckdb polars pandas pyarrow pytest click filelock numpy platformdirs rich ||
    missing "packages that could not be installed"
