#!/bin/sh
# The build steps of the image, in a script so that they can be run and tested without Docker:
#
#   install.sh packages VENV    a virtual environment with the packages of deploy/images/requirements.lock
#   install.sh rubble VENV      the rules compiled in this folder, and the command `rubble` in VENV
#
# Run it from a copy of the project: it compiles in place.
set -eu
step=$1
venv=$2
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-cache-dir --quiet "$@"; }

case $step in
packages)
    "${PYTHON:-python3}" -m venv --clear "$venv"
    pip install --require-hashes -r deploy/images/requirements.lock
    ;;
rubble)
    # mypy and setuptools come from the development lock and are removed afterwards.
    tools=$(mktemp -d)
    trap 'rm -rf "$tools"' EXIT
    for name in mypy mypy-extensions pathspec librt ast-serialize typing-extensions setuptools; do
        awk -v name="$name" '/^[a-z]/ { found = ($0 ~ "^" name "==") } found' requirements.lock
    done >"$tools/requirements.lock"
    "${PYTHON:-python3}" -m venv "$tools/venv"
    "$tools/venv/bin/python" -m pip --disable-pip-version-check --no-cache-dir --quiet install --require-hashes -r "$tools/requirements.lock"
    RUBBLE_PURE=1 PATH="$tools/venv/bin:$PATH" "$tools/venv/bin/python" -m tools.compile
    awk '/^[a-z]/ { found = /^setuptools==/ } found' requirements.lock >"$tools/setuptools.lock"
    pip install --require-hashes -r "$tools/setuptools.lock"
    pip install --no-deps --no-build-isolation --no-index --editable .
    pip uninstall --yes setuptools
    # Not needed at run time: a fifth of the packages' size is their tests.
    find "$venv/lib" -type d -name tests -prune -exec rm -rf {} +
    pip uninstall --yes pip
    "$venv/bin/python" -m compileall -q service orchestrator cli bots rubble "$venv/lib"
    ;;
*)
    echo "install.sh: $step is not a step; expected packages or rubble" >&2
    exit 2
    ;;
esac
