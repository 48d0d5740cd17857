#!/usr/bin/env bash
# Fetches the tools that the checks of deploy/ use into .rubble/tools, and lists those it could not get. Nothing is installed outside
# that folder and nothing is started. Tests that need a missing tool are skipped and name it.
#
#   deploy/tools.sh            the quick ones: a minute the first time
#   deploy/tools.sh compose    also builds `docker compose` from its Go module, which takes many minutes
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/.rubble/tools
mkdir -p "$tools/bin"
PATH=$tools/bin:$PATH
COMPOSE=v2.40.3

say() { printf '%-14s %s\n' "$1" "$2"; }

python_tools() {
    local stamp=$tools/python/.ready
    if [ "$stamp" -nt deploy/requirements.lock ]; then return; fi
    "${PYTHON:-python3}" -m venv --clear "$tools/python"
    "$tools/python/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/requirements.lock
    touch "$stamp"
}

# The packages' files are unpacked, not installed: their services must not start, and no root is needed.
debian() {
    local program=$1 path=$2
    shift 2
    if command -v "$program" >/dev/null; then say "$program" "$(command -v "$program")"; return; fi
    if ! command -v apt-get >/dev/null; then say "$program" "MISSING: not on the PATH, and this is no Debian to get it from"; return; fi
    local folder=$tools/debian
    mkdir -p "$folder/fetched"
    (
        cd "$folder/fetched"
        apt-get download -q "$@" || { [ "$(id -u)" = 0 ] && apt-get update -q && apt-get download -q "$@"; }
        for package in "$@"; do dpkg -x "$package"_*.deb "$folder"; done
    ) >"$tools/apt.log" 2>&1 || { say "$program" "MISSING: apt-get cannot download it; see $tools/apt.log"; return 0; }
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' \
        "$(find "$folder/usr/lib" -maxdepth 1 -name '*-linux-gnu*' 2>/dev/null | head -n 1)" "$folder/$path" >"$tools/bin/$program"
    chmod +x "$tools/bin/$program"
    say "$program" "$tools/bin/$program"
}

compose() {
    if docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null; then return; fi
    # Its go.mod excludes some versions, so `go install` refuses it; the module is built in its own folder.
    local source
    source=$(go mod download -json "github.com/docker/compose/v2@$COMPOSE" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    (cd "$source" && go build -mod=readonly -o "$tools/bin/docker-compose" ./cmd)
}

if python_tools; then say "python" "$tools/python (PyYAML, hadolint, kubernetes-validate)"; else say "python" "MISSING: the packages of deploy/requirements.lock"; fi
debian promtool usr/bin/promtool prometheus
debian prometheus usr/bin/prometheus prometheus
debian haproxy usr/sbin/haproxy haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
for program in kubectl postgres; do
    found=$(command -v "$program" || find /usr/lib/postgresql -name "$program" -path '*/bin/*' 2>/dev/null | sort -V | tail -n 1)
    say "$program" "${found:-MISSING: not on the PATH}"
done
if [ "${1:-}" = compose ]; then compose; fi
if docker compose version >/dev/null 2>&1; then say "compose" "docker compose"
elif command -v docker-compose >/dev/null; then say "compose" "$(command -v docker-compose)"
else say "compose" "MISSING: no docker compose; 'deploy/tools.sh compose' builds it with Go"; fi
