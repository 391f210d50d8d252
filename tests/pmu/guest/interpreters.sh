#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# The kernel accepts what walks over the frames of each language, alone and all together: a command that is called like a
# program of one has it loaded. Older verifiers refuse deep stacks of calls.
. "${0%/*}/lib.sh"
languages='python node php ruby perl x.go'
release=$(uname -r)
if [ "$(printf '%s\n' 5.17 "$release" | sort -V | head -n 1)" != 5.17 ]; then # without bpf_loop
	found "$release: too old"
	exit 0
fi
for words in $languages "$languages"; do
	# shellcheck disable=SC2086 # each is a word of the command
	cpuperf --verbose=2 --output="$PWD/s" -e cpu_clock@999Hz -g -- sh -c 'exit 0' $words >log 2>&1 ||
		{ cat log; fail "cpuperf: $words"; }
	grep -q 'interpreted languages are read' log || { grep -i 'interpret' log; fail "not loaded: $words"; }
	found "loaded: $words"
done
