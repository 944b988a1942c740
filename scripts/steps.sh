# Shared functions of the set-up scripts, which source this file with `.`.

missing() {
    echo "capeval: missing: $1" >&2
    exit 1
}

# Runs a command up to three times, for interrupted downloads.
tried() {
    for attempt in 1 2 3; do
        if "$@"; then return 0; fi
        echo "capeval: note: attempt $attempt failed: $*" >&2
        sleep $((attempt * 5))
    done
    return 1
}

# Succeeds if this user can install Debian packages.
can_install() {
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]
}

# Installs Debian packages; prints the last lines of apt-get's output if this fails.
install_debian() {
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    # Recipes that run at the same time install one after the other.
    if tried flock /var/lock/capeval-packages apt-get update >"$log" 2>&1 &&
        tried flock /var/lock/capeval-packages apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1; then
        rm "$log"
        return 0
    fi
    tail -5 "$log" >&2
    rm "$log"
    return 1
}

# Installs packages into a virtual environment, with constraints. uv takes a tenth of pip's time. pip installs
# them if uv can't, for example because only pip is configured to use an index.
# Usage: install_python VENV CONSTRAINTS PACKAGE...
install_python() {
    environment=$1
    constraints=$2
    shift 2
    if "$environment/bin/python" -m pip install --quiet --constraint constraints.txt uv &&
        UV_SYSTEM_CERTS=1 "$environment/bin/uv" pip install --quiet --python "$environment/bin/python" \
            --constraint "$constraints" "$@"; then return 0; fi
    "$environment/bin/python" -m pip install --quiet --constraint "$constraints" "$@"
}
