#!/bin/sh
# Creates the virtual environment for the tests with Ray, Spark, Dask, DuckDB and Polars, or reports a missing
# prerequisite.
# Usage: set_up_distributed.sh FOLDER
# Downloads 700 MB; the environment takes 1.5 GB. Spark requires Java 17 or newer.
set -eu
venv=$1
. "$(dirname "$0")/steps.sh"

if ! command -v java >/dev/null; then
    can_install || missing "Java 17 or newer, required by Spark"
    echo "Installing Java for Spark"
    install_debian openjdk-17-jre-headless || missing "openjdk-17-jre-headless (the installation failed)"
fi

echo "Installing Ray, Spark, Dask, DuckDB and Polars into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
tried install_python "$venv" constraints-distributed.txt \
    "ray[data]" pyspark "dask[distributed]" duckdb polars pandas pyarrow pytest click filelock numpy platformdirs rich ||
    missing "Python packages (the installation failed)"
