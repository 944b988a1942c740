#!/bin/sh
# Makes the virtual environment of the tests of Ray, Spark, Dask, DuckDB and Polars, or says plainly what is missing.
# Usage: set_up_distributed.sh FOLDER
# 700 MB to fetch, 1.5 GB installed. Spark runs on Java 17 or newer.
set -eu
venv=$1
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

if ! command -v java >/dev/null; then
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || missing "Java 17 or newer, which Spark runs on"
    echo "Installing Java for Spark"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    tried apt-get update >"$log" 2>&1 &&
        tried apt-get install -y --no-install-recommends openjdk-17-jre-headless >>"$log" 2>&1 ||
        { tail -5 "$log" >&2; missing "openjdk-17-jre-headless, which could not be installed"; }
    rm "$log"
fi

echo "Installing Ray, Spark, Dask, DuckDB and Polars into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
tried "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints-distributed.txt \
    "ray[data]" pyspark "dask[distributed]" duckdb polars pandas pyarrow pytest click filelock numpy platformdirs rich ||
    missing "packages that could not be installed"
