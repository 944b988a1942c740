#!/bin/sh
# Installs the Debian packages that the tests use beside the toolchains: a database server, a browser and proxies.
# Where it can't, it says what will be left out, and the tests that need them say so again.
set -eu
. "$(dirname "$0")/steps.sh"

needed=""
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || needed="$needed postgresql"
command -v chromium >/dev/null || needed="$needed chromium fonts-dejavu-core"
# Debian starts a proxy that is installed, on the ports of web servers: not on a machine that people use.
if [ ! -d /run/systemd/system ]; then
    command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || needed="$needed nginx-light"
    command -v caddy >/dev/null || needed="$needed caddy"
fi
[ -n "$needed" ] || exit 0

if can_install; then
    echo "Installing Debian packages:$needed"
    # A list of names, which must be split.
    # shellcheck disable=SC2086
    if install_debian $needed; then exit 0; fi
fi
echo "capeval: note: the tests that need these packages will be left out:$needed" >&2
