#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# A program of three functions that take 70, 20 and 10 % by construction, sampled by cycles: shares
# within three standard errors, callers as they are, and in a second session the registers and the
# stack of each sample.
. "${0%/*}/lib.sh"
spec fixed:cycle_counter:user+pc+callchain@600011 >mix.cpspec
measure mix 1 2s &
session=$!
await mix 0
mix ms 1700 &
mix=$(printf 0x%x $!)
wait $session || exit 1
cat mix.log
tell mix
adds_up mix 0x1004
awk -F '[:, ]+' -v pid="$mix" -v program="$(which mix)" "$functions"'
	# three standard errors: without a root, which this awk has not
	function share(name, part) {
		off = leaf[name] / nr - part
		print name ": " leaf[name] / nr
		wrong += off * off > 9 * part * (1 - part) / nr
	}
	BEGIN { load_functions(program) }
	$2 == "PC" { here = $6 == pid; pc = $8; next }
	$2 != "Callchain" || !here { next }
	{ all++ }
	function_of(pc) !~ /^work_/ { next }
	{ nr++; leaf[function_of(pc)]++ }
	$5 == "user" && $6 == pc && function_of($7) == "run" && function_of($8) == "main" &&
		function_of($NF) == "_start" { deep++ }
	END {
		print nr " of " all " samples in the known functions, " deep " with known callers"
		if (nr) { share("work_a", 0.7); share("work_b", 0.2); share("work_c", 0.1) }
		exit nr < 2000 || nr < 0.99 * all || deep < 0.99 * nr || wrong
	}' mix.read || fail "the shares or the callers"

spec fixed:cycle_counter:user+pc+user_stack@1000003 >stack.cpspec
measure stack 1 600ms &
session=$!
await stack 0
mix ms 300 &
mix=$!
wait $session || exit 1
cat stack.log
tell stack
pmu_stack "$PWD/stack" $mix "$(which mix).nm"
