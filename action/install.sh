#!/usr/bin/env bash
# Makes the environment that sweeper runs in, every package pinned and hashed, and says where it is.
# It is kept in the runner's tool cache: a self-hosted runner makes it once for each lock file.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# -I everywhere: the folder that this runs in is a checkout, and nothing is imported from it.
fits() { "$1" -I -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

chosen=
for python in ${INPUT_PYTHON:+"$INPUT_PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
    if fits "$python"; then
        chosen=$python
        break
    fi
done
if [ -z "$chosen" ]; then
    echo "::error title=sweeper::Python 3.11 or newer with venv is needed: actions/setup-python, or the input python"
    exit 2
fi

key=$({
    "$chosen" -I -c 'import sys; print(sys.version, sys.executable)'
    cat "$here/requirements.lock"
} | "$chosen" -I -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:16])')
folder=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/sweeper/$key
if [ "${1:-}" = --where ]; then
    echo "$folder"
    exit
fi

mkdir -p "$folder"
if command -v flock >/dev/null; then # two jobs of one machine make it once
    exec 9>"$folder/.lock"
    flock 9
fi
if [ ! -e "$folder/.ready" ]; then
    echo "installing the locked packages into $folder"
    rm -rf "$folder/env"
    "$chosen" -I -m venv "$folder/env"
    "$folder/env/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-input --require-hashes \
        -r "$here/requirements.lock"
    touch "$folder/.ready"
fi

# one token for both steps: the second starts the commands again that a killed first step has stopped
token=$("$chosen" -I -c 'import secrets; print(secrets.token_hex(16))')
{
    echo "python=$folder/env/bin/python"
    echo "token=$token"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
