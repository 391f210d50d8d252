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

# every N: each Nth of the lines read, from a place that CPUPERF_TEST_SEED chooses (as tests/kit/stride.h); the others
# with -v.
every() {
	local sign='=='
	[[ $1 != -v ]] || { sign='!=' && shift; }
	awk -v n="$1" -v seed="${CPUPERF_TEST_SEED:-0}" "NR % n $sign seed % n"
}

# names_of_tests FOLDER [ARGUMENT of ctest...]: in a configured build, a name on each line.
names_of_tests() { ctest --test-dir "$1" -N "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p'; }

have() { command -v "$1" >/dev/null 2>&1; }

# apt_sources [OPTION...]: the lines of a sources.list, with the options of each: those of this
# machine that belong to its own release.
apt_sources() {
	local codename
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' |
		sort -u | awk -v release="$codename" -v options="${*:+[$*] }" '
			release != "" && index($2, release) == 1 { print "deb " options $0 }'
}

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

# stale FOLDER: what CMake remembers there is of no use: it could not be configured, was made for
# a tree in another place, or with files that are gone.
stale() {
	local cache=$1/CMakeCache.txt path
	[[ -e $cache ]] || return 1
	[[ -e $1/build.ninja || -e $1/Makefile ]] || return 0
	path=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
	[[ $path -ef $PWD ]] || return 0
	while read -r path; do
		[[ -e $path ]] || return 0
	done < <(sed -n 's|^[A-Za-z_][^=]*:FILEPATH=/|/|p' "$cache")
	return 1
}

# Objects stay: they are made again where the new configuration differs.
forget_stale() { ! stale "$1" || rm -rf "$1/CMakeCache.txt" "$1/CMakeFiles"; }

# With ccache, if it is there by now, what any checkout has compiled before is not compiled again:
# -ffile-prefix-map takes the paths of the tree, in which checkouts differ, out of objects.
use_ccache() {
	have ccache || return 0
	export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
	export CCACHE_BASEDIR=${CCACHE_BASEDIR-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}
	export CCACHE_IGNOREOPTIONS=${CCACHE_IGNOREOPTIONS--ffile-prefix-map=*}
}

# configure PRESET FOLDER: with Ninja if it is there by now, else what CMake takes by itself; a
# folder keeps what it was made with. configure_options: more options of cmake.
configure_options=()
configure() {
	use_ccache
	[[ -n ${CMAKE_GENERATOR:-} ]] || ! have ninja || local -x CMAKE_GENERATOR=Ninja
	forget_stale "$2"
	cmake --preset "$1" -B "$2" "${configure_options[@]}" || { forget_stale "$2" && return 1; }
}

# 20 lines of a log: from the first that says what failed, or the last ones.
say_failure() { # LOG
	local said i from
	mapfile -t said <"$1"
	from=$((${#said[@]} > 20 ? ${#said[@]} - 20 : 0))
	for i in "${!said[@]}"; do
		[[ ${said[i]} != 'FAILED: '* ]] || { from=$i && break; }
	done
	printf '%s\n' "${said[@]:from:20}"
}

# logged FOLDER WHAT COMMAND...: quiet when all is well; what failed first when it is not, or the last lines.
logged() {
	local folder=$1 what=$2 log=$1/build.log
	shift 2
	mkdir -p "$folder" 2>/dev/null || true
	[[ -w $folder ]] ||
		die "$folder is not writable (made by another user?): remove it or fix its owner"
	if ! "$@" 2>&1 | tee "$log" | progress; then
		say_failure "$log" >&2
		die "$what (log: $log)"
	fi
}

# prepare PRESET FOLDER: configures, where that was not done before.
prepare() { logged "$2" "preset $1 cannot be configured" configure "$1" "$2"; }

configure_and_build() { # PRESET FOLDER [TARGET...]
	configure "$1" "$2" && cmake --build "$2" ${3:+--target "${@:3}"}
}

# build PRESET FOLDER [TARGET...]
build() { logged "$2" "preset $1 does not build" configure_and_build "$@"; }
