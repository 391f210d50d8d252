# Sourced by the other scripts: where the tree is, how to speak, how to build a preset.
# shellcheck shell=bash
# Knows nothing of what is built. Works from any folder; changes to the top of the tree.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
self=scripts/$(basename "$0")

say() { printf '%s\n' "$*"; }
die() { printf '%s: error: %s\n' "$self" "$*" >&2; exit 1; }
skip() { printf 'skip: %s\n' "$*"; exit 77; } # 77: what ctest takes for skipped

have() { command -v "$1" >/dev/null 2>&1; }

# Ninja if it is there, else what CMake takes by itself; a folder keeps what it was made with.
if [[ -z ${CMAKE_GENERATOR:-} ]] && have ninja; then
	export CMAKE_GENERATOR=Ninja
fi
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL

# "[12/80]" of ninja or "[ 15%]" of make become one line that moves, on a terminal only.
progress() {
	if [[ -t 1 ]]; then
		awk '/^\[/ { sub(/\].*/, "]"); printf "\r    %s ", $0; fflush() } END { printf "\r\033[K" }'
	else
		cat >/dev/null
	fi
}

# build PRESET FOLDER [TARGET...]: quiet when all is well; the whole log when it is not.
build() {
	local preset=$1 folder=$2 log=$2/build.log
	shift 2
	mkdir -p "$folder" 2>/dev/null || true
	[[ -w $folder ]] ||
		die "$folder is not writable (made by another user?): remove it or fix its owner"
	if ! { cmake --preset "$preset" -B "$folder" &&
		cmake --build "$folder" ${1:+--target "$@"}; } 2>&1 | tee "$log" | progress; then
		cat "$log" >&2
		die "preset $preset does not build (log: $log)"
	fi
}
