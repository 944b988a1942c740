#!/bin/sh
# Has Maven fetch S3Proxy and what it needs, 43 MB, for the tests; where it can't, says what will be left out.
# Usage: object_store.sh FOLDER
set -eu
folder=$1
. "$(dirname "$0")/steps.sh"

left_out() {
    rm -rf "$folder"
    echo "capeval: note: the tests of files in a store that speaks S3 will be left out: $1" >&2
    exit 0
}

fetch() {
    mvn --batch-mode --quiet -Dstyle.color=never --file "$(dirname "$0")/object_store.xml" \
        org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$folder"
}

command -v mvn >/dev/null || left_out "no mvn here"
command -v java >/dev/null || left_out "no java here"
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
echo "Fetching S3Proxy"
rm -rf "$folder"
tried fetch || left_out "Maven can't fetch S3Proxy"
