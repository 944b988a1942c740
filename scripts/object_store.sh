#!/bin/sh
# Downloads S3Proxy with its dependencies (43 MB) for the tests, with Maven. Prints a note if this is not possible; the
# tests that need it are skipped.
# Usage: object_store.sh FOLDER
set -eu
folder=$1
. "$(dirname "$0")/steps.sh"

left_out() {
    rm -rf "$folder"
    echo "capeval: note: tests of files in an object store (S3) will be skipped: $1" >&2
    exit 0
}

fetch() {
    mvn --batch-mode --quiet -Dstyle.color=never --file "$(dirname "$0")/object_store.xml" \
        org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$folder"
}

command -v mvn >/dev/null || left_out "mvn is not installed"
command -v java >/dev/null || left_out "java is not installed"
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
echo "Downloading S3Proxy"
rm -rf "$folder"
tried fetch || left_out "Maven can't download S3Proxy"
