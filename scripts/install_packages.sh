#!/bin/sh
# Installs programs for the tests as Debian packages. Prints a note about each one that can't be installed; the tests
# that need it are skipped.
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
    is_installed "$program" && continue
    # systemd starts a proxy as soon as it is installed, on the ports of web servers.
    case $program in
        nginx | caddy)
            if [ -d /run/systemd/system ]; then
                echo "capeval: note: the tests that need $program will be left out: install it by hand" >&2
                continue
            fi
            ;;
    esac
    needed="$needed $packages"
done
[ -n "$needed" ] || exit 0

if can_install; then
    echo "Installing Debian packages:$needed"
    # A list of names, which must be split.
    # shellcheck disable=SC2086
    if install_debian $needed; then exit 0; fi
fi
echo "capeval: note: the tests that need these packages will be left out:$needed" >&2
