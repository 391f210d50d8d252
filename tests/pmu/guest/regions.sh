#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# One CPU: what instructions_retired counts in regions, in user mode, is what they execute and what
# marks themselves count. By read(2), and by the registers where this kernel lets a thread read them.
# The first mark at each place looks its name up: compared are 50 and 100 calls.
. "${0%/*}/lib.sh"
cat >marked.cpspec <<'END'
{ "regions": { "counts": ["instructions_retired"] }, "events": [
  { "group_name": "software", "event_name": "cpu_clock", "frequency": 99 },
  { "group_name": "fixed", "event_name": "instructions_retired", "flags": ["user"] } ] }
END
access=/proc/sys/kernel/perf_user_access

# read_regions OUT OPTION...: "NR PATH TOTAL SELF" of both sessions.
read_regions() {
	local out=$1
	shift
	for nr in 50 100; do
		cpuperf_print --quiet s$nr --report=regions --output-format=csv "$@" >table.csv || exit 1
		awk -F, -v nr=$nr 'NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
			{ gsub(/ > /, "/", $C["path"])
			  print nr, $C["path"], $C["in_regions_instructions_retired"],
				$C["in_regions_instructions_retired_self"] }' table.csv
	done >"$out"
}

# count_once WHAT: what marks add to the time of the regions around them, in $around. 1: a number is not as it must be.
count_once() {
	for nr in 50 100; do
		cpuperf --quiet --spec-file=marked.cpspec -o s$nr -- marked $nr >log 2>&1 || { cat log; fail "cpuperf"; }
	done
	cpuperf_print --quiet s50 --report=regions | grep 'the marks of a region' >marks
	sed "s/^/$1: /" marks
	around=$(sed -n 's/^wall: .* and \([0-9]*\) ns .*/\1/p' marks)
	[ -n "$around" ] || fail "no time of marks"
	read_regions all
	read_regions less --subtract-marks
	awk -v marks="$(cat marks)" '
		function bad(text) { print "FAILED: " text; failed++ }
		function per_call(what, calls) { return (sum[100, what] - sum[50, what]) / 50 / calls }
		function is(what, got, want) { if (got != want) bad(what ": " got ", not " want) }
		function near(what, got, want, by) {
			if (got < want - by || got > want + by) bad(what ": " got ", not " want " +- " by)
		}
		FILENAME == "less" { kind = "less " }
		{ sum[$1, kind $2] = $3; sum[$1, kind $2 " self"] = $4 }
		END {
			split(marks, w, " ")
			own = w[8]; around = w[12]
			none = per_call("none", 1)
			inside = per_call("pair", 1) - none
			print "a region of nothing counts " none ", one around it " inside " more"
			is("loop", per_call("loop", 1) - none, 4001)
			is("inner", per_call("outer/inner", 2) - none, 1001)
			# where a mark stands, some instructions more or fewer pass its arguments
			near("in", per_call("pair/in", 1), none, 1)
			near("outer", per_call("outer", 1) - none, 2001 + 2 * (1001 + inside), 6)
			near("own", none, own, 2)
			near("around", inside, around, 4)
			is("loop without marks", per_call("less loop", 1) + own, 4001 + none)
			is("inner without marks", per_call("less outer/inner", 2) + own, 1001 + none)
			is("outer without marks", per_call("less outer", 1) + own + 2 * around, per_call("outer", 1))
			near("self without marks", per_call("less outer self", 1), 2001, 8)
			print "without marks: loop " per_call("less loop", 1) " of 4001, inner " \
				per_call("less outer/inner", 2) " of 1001, outer " per_call("less outer", 1) \
				" of 4003, of which itself " per_call("less outer self", 1) " of 2001"
			exit failed > 0
		}' all less
}

# A mark that is interrupted while it reads a counter reads it again: some instructions more, once in a while.
count_regions() {
	for try in 1 2 3; do
		count_once "$1" && return
		echo "try $try: an interrupted mark, or worse"
	done
	fail "regions by $1"
}

echo 0 >$access || exit 1
count_regions 'read(2)'
by_call=$around
echo 1 >$access
count_regions 'registers'
[ $((4 * around)) -lt $((3 * by_call)) ] || fail "registers are no faster than read(2)"
