#!/bin/sh
# Installs the programs that tests use beside the toolchains, as Debian packages.
# Where it can't, it says what will be left out, and the tests that need them say so again.
# Usage: install_packages.sh PROGRAM..., each one of chromium, postgresql, nginx, caddy.
set -eu
. "$(dirname "$0")/steps.sh"

is_installed() {
    case $1 in
        postgresql) command -v initdb || ls /usr/lib/postgresql/*/bin/initdb ;;
        nginx) command -v nginx || [ -x /usr/sbin/nginx ] ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

needed=""
for program in "$@"; do
    case $program in
        chromium) packages="chromium fonts-dejavu-core" ;;
        nginx) packages="nginx-light" ;;
        *) packages=$program ;;
    esac
    # Debian starts a proxy that is installed, on the ports of web servers: not on a machine that people use.
    case $program in nginx | caddy) [ ! -d /run/systemd/system ] || continue ;; esac
    is_installed "$program" || needed="$needed $packages"
done
[ -n "$needed" ] || exit 0

if can_install; then
    echo "Installing Debian packages:$needed"
    # A list of names, which must be split.
    # shellcheck disable=SC2086
    if install_debian $needed; then exit 0; fi
fi
echo "capeval: note: the tests that need these packages will be left out:$needed" >&2
