#!/bin/sh
# Installs programs for the tests as Debian packages. Prints a note about programs that can't be installed; the tests
# that need them are skipped.
# Usage: install_packages.sh PROGRAM...
# PROGRAM is chromium, postgresql, nginx, caddy, python3-venv, java or maven.
set -eu
. "$(dirname "$0")/steps.sh"

is_installed() {
    case $1 in
        postgresql) command -v initdb || ls /usr/lib/postgresql/*/bin/initdb ;;
        python3-venv) python3 -c "import venv, ensurepip" ;;
        java) command -v javac ;;
        maven) command -v mvn ;;
        nginx) command -v nginx || [ -x /usr/sbin/nginx ] ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

needed=""
for program in "$@"; do
    case $program in
        chromium) packages="chromium fonts-dejavu-core" ;;
        nginx) packages="nginx-light" ;;
        java) packages="default-jdk-headless" ;;
        *) packages=$program ;;
    esac
    is_installed "$program" && continue
    # systemd starts a newly installed proxy at once, on the ports of web servers.
    case $program in
        nginx | caddy)
            if [ -d /run/systemd/system ]; then
                echo "capeval: note: tests that need $program will be skipped; install it manually to run them" >&2
                continue
            fi
            ;;
    esac
    needed="$needed $packages"
done
[ -n "$needed" ] || exit 0

if can_install; then
    echo "Installing Debian packages:$needed"
    # Word splitting is intended: a list of names.
    # shellcheck disable=SC2086
    if install_debian $needed; then exit 0; fi
fi
echo "capeval: note: tests that need these packages will be skipped:$needed" >&2
