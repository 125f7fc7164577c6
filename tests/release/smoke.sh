#!/usr/bin/env bash
# Install the wheel and the sdist of dist/, each into an empty environment, and try them there.
# Usage: smoke.sh PYTHON
set -euo pipefail
python=$1
here=$(cd "$(dirname "$0")" && pwd)
dist=$(cd "$here/../../dist" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

try() { # NAME REQUIREMENT
    "$python" -m venv "$work/$1"
    "$work/$1/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$2"
    mkdir "$work/$1-folder"
    (cd "$work/$1-folder" && "$work/$1/bin/python" "$here/smoke.py")
}

wheels=("$dist"/monmdp-*.whl)
sdists=("$dist"/monmdp-*.tar.gz)
if [ ${#wheels[@]} != 1 ] || [ ${#sdists[@]} != 1 ]; then
    echo "dist/ must hold one wheel and one sdist; make dist" >&2
    exit 1
fi
try wheel "${wheels[0]}"
try sdist "${sdists[0]}"
