#!/bin/sh
# Builds wheels of this checkout's distributions, and collects wheels of their dependencies, so that tests can
# install all of them without a package index.
# Usage: local_wheels.sh VENV FOLDER
set -eu
venv=$1
wheels=$2

rm -rf "$wheels/own"
mkdir -p "$wheels/own" "$wheels/dependencies"
# Tests measure no time, so the native module has the profile of development.
PIP_CONSTRAINT=constraints.txt "$venv/bin/maturin" build --profile development --quiet --out "$wheels/own"
for folder in server decoding; do
    (cd "$folder" && "../$venv/bin/python" -m hatchling build --target wheel --directory "../$wheels/own") >/dev/null 2>&1
done
capeval=$(ls "$wheels"/own/capeval-*.whl)
"$venv/bin/python" -m pip download --quiet --only-binary :all: --constraint constraints.txt \
    --find-links "$wheels/dependencies" --dest "$wheels/dependencies" \
    "$capeval[coco,report,studies]" "$wheels"/own/capeval_server-*.whl "$wheels"/own/capeval_decoding-*.whl
rm -f "$wheels"/dependencies/capeval*.whl
