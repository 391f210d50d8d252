# shellcheck shell=dash disable=SC2016,SC2034,SC2086
# Sourced by the checks, in the guest: how to make a spec, to measure, and to ask about results.
set -eu
tree=$(cd "${0%/*}/../../.." && pwd)
cd "$(mktemp -d)"

fail() { echo "FAILED: $*"; exit 1; }

# spec EVENT...: a spec of events like fixed:cycle_counter or, with flags, fixed:cycle_counter:os+pc,
# and sampled every million or a thousand times a second fixed:cycle_counter:pc@1000000 or …@1000Hz;
# the whole word is the column's label.
spec() {
	echo '{ "events": ['
	for event; do
		echo "$event" | awk '{
			split($0, w, "@")
			split(w[1], e, ":")
			printf "{ \"group_name\": \"%s\", \"event_name\": \"%s\", \"label\": \"%s\"", e[1], e[2], $0
			gsub(/[+]/, "\", \"", e[3])
			if (e[3]) printf ", \"flags\": [\"%s\"]", e[3]
			if (w[2]) printf ", \"%s\": %d", w[2] ~ /Hz/ ? "frequency" : "rate", w[2]
			print " }," }'
	done
	echo '] }'
}

# measure NAME ITERATIONS DURATION [OPTION...]: the session NAME of NAME.cpspec: table in NAME.csv,
# log in NAME.log, traces as NAME.0.0.cpuperf.
measure() {
	local name=$1 iterations=$2 duration=$3
	shift 3
	cpuperf --spec-file="$PWD/$name.cpspec" --num-iterations="$iterations" \
		--duration="$duration" --output-path-prefix="$PWD/$name" \
		--session-result-spec-path="$PWD/$name.cpsession" --output-format=csv "$@" \
		>"$name.csv" 2>"$name.log" ||
		{ cat "$name.log"; fail "cpuperf: $name"; }
}

# await NAME ITERATION: until a session that samples, in the background, has come so far.
await() {
	local tries=0
	until [ -e "$1.$2.0.cpuperf" ]; do
		[ $((tries += 1)) -lt 500 ] || { cat "$1.log"; fail "$1 comes to no iteration $2"; }
		sleep 0.02
	done
}

# print NAME FORMAT: the session as it is read back, in NAME.read.
print() {
	cpuperf_print --session="$1.cpsession" --each-iteration --output-format="$2" >"$1.read" 2>"$1.read.log" ||
		{ cat "$1.read.log"; fail "cpuperf_print: $1"; }
}

# rows FILE PROGRAM [NAME=VALUE...]: awk over the cells of a CSV file without the totals over CPUs,
# its columns by name in C[]: $C["value"]. In the program, bad(TEXT) reports the row and fails.
rows() {
	local file=$1 program=$2
	shift 2
	[ -s "$file" ] || fail "$file is empty"
	local assign=
	for pair; do assign="$assign -v $pair"; done
	awk -F, $assign '
		function bad(text) { if (failed++ < 3) print "FAILED: " text ": " $0 }
		function share() { return $C["running_ns"] / $C["enabled_ns"] }
		NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		$C["trace"] == "" { next }
		'"$program"'
		END { exit failed > 0 }' "$file" || exit 1
}

# tell NAME [NS]: the session in cpuperf_print's raw form, in NAME.read, and what that says, in
# NAME.sums: a line for each iteration, trace and event: how many samples (Tick, PC), the sum of the
# periods that they tell themselves, the sum of the Counts, how many Counts. No sample lies before an
# earlier one of its trace, of any iteration, nor more than NS (0) behind the readings that end its
# iteration: several groups of events are read one after the other.
tell() {
	print "$1" raw
	awk -F '[:, ]+' -v name="$1" -v slack="${2:-0}" '
		function key(event) { return iteration " " trace " " event }
		function bad(text) {
			if (failed++ < 3)
				print "FAILED: iteration " iteration ", trace " trace ", " time ": " text
		}
		$1 == "Iteration" { iteration = $2 }
		$1 == "Trace" { trace = $2 }
		$1 == "Common" { exit }
		$2 == "Time" { time = $3 + 0; is_new = 1; next }
		is_new {
			if (time + ($2 == "Count" ? slack : 0) < latest[trace])
				bad("after " latest[trace] ": " $0)
			if (time > latest[trace]) latest[trace] = time
			is_new = 0
		}
		$2 == "Tick" || $2 == "PC" {
			seen[key($4)]
			samples[key($4)]++
			if ($(NF - 1) == "period") periods[key($4)] += $NF
		}
		$2 == "Count" { seen[key($4)]; counts[key($4)]++; sum[key($4)] += $5 }
		END {
			for (k in seen)
				printf "%s %d %.0f %.0f %d\n", k, samples[k], periods[k], sum[k],
					counts[k] >(name ".sums")
			exit failed > 0
		}' "$1.read" || fail "samples at a wrong time"
}

# adds_up NAME ID...: what the table and the records of a session of spec say of its events, whose
# numbers are ID..., is the same: as many samples, of the rate in the label or the period that each
# tells, and with the Counts they make all that was counted. is_held is set for a flight recorder.
adds_up() {
	local name=$1
	shift
	rows "$name.csv" '
		BEGIN {
			while ((getline line <sums) > 0) {
				split(line, w, " ")
				key = w[1] " " w[2] " " w[3]
				nr[key] = w[4]; periods[key] = w[5]; sum[key] = w[6]
			}
			nr_events = split(ids, id, ",")
		}
		{
			key = $C["iteration"] " " $C["trace"] " " id[(NR - 2) % nr_events + 1]
			is_sampled = split($C["label"], w, "@") > 1
			weight = periods[key] ? periods[key] : nr[key] * w[2]
		}
		$C["raw"] == "" {
			if (nr[key]) bad("there are " nr[key] " samples in the trace")
			next
		}
		$C["raw"] != weight + sum[key] { bad("Ticks make " weight ", Counts " sum[key]) }
		!is_sampled { next }
		{ all += nr[key] }
		$C["samples"] != nr[key] + 0 { bad("there are " nr[key] + 0 " samples in the trace") }
		$C["weight"] != weight { bad("the samples in the trace weigh " weight) }
		$C["residual"] != (is_held ? "" : $C["raw"] - weight) { bad("the residual is another") }
		END {
			print all + 0 " samples in " NR - 1 " cells"
			if (!all) failed++
		}' sums="$name.sums" ids="$(echo "$@" | tr " " ,)" is_held="${is_held:-}"
}

# max_rate HZ: between two ticks of a CPU, 4 ms, the kernel pauses an event that samples faster. An
# idle CPU has no ticks for long: there any event is paused, sooner or later, if HZ is not large.
max_rate() {
	echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent # with 0 it cannot be set
	echo "$1" >/proc/sys/kernel/perf_event_max_sample_rate
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

# For awk: load_functions(PROGRAM) reads what CMake has left beside it; then function_of(ADDRESS) is
# the name of the function at an address as cpuperf_print shows it.
functions='
	function pad(hex) {
		sub(/^0x/, "", hex)
		return substr("0000000000000000", length(hex) + 1) hex
	}
	function load_functions(program) {
		while ((getline line <(program ".nm")) > 0) {
			split(line, w, " ")
			if (w[2] ~ /^[tT]$/) { start[nr_functions] = w[1]; name[nr_functions++] = w[3] }
		}
	}
	function find_function(address, i) {
		for (i = nr_functions; i > 0 && start[i - 1] > address; i--);
		return name[i - 1]
	}
	function function_of(address) {
		if (!(address in known)) known[address] = find_function(pad(address))
		return known[address]
	}'

# near A B PERCENT
near() {
	awk -v a="$1" -v b="$2" -v percent="$3" \
		'BEGIN { d = a > b ? a - b : b - a; exit !(b > 0 && d * 100 <= b * percent) }'
}

# busy CPU: an endless loop there, until idle. Beside it every fork and every call to another CPU
# takes some 20 ms of the guest's time, so there is little between the two.
busy() {
	taskset $((1 << $1)) loop &
	busy=$!
	trap idle EXIT
}
idle() {
	[ -z "$busy" ] || kill "$busy"
	busy=
}
busy=

seven='fixed:cycle_counter fixed:instructions_retired fixed:instructions_retired:os
	fixed:instructions_retired:user arch:instructions_retired arch:instructions_retired:os
	arch:instructions_retired:user'

# found TEXT: what a check has found; the table of kernels (../kernels.sh) shows it.
found() { echo "found: $*"; }

# is_before VERSION: the kernel that runs is older.
is_before() {
	uname -r | awk -v than="$1" '{ split($0, a, /[.-]/); split(than, b, "."); exit !(a[1] < b[1] || (a[1] == b[1] && a[2] < b[2])) }'
}

# need_programs EVENT KEY: before Linux 5.12 the event's description has the reason why programs cannot be loaded, and
# the check ends; else KEY must be there.
need_programs() {
	cpuperf --quiet --describe-event="$1" >describe.out 2>&1
	if is_before 5.12; then
		grep -q 'programs in the kernel need Linux 5.12' describe.out ||
			{ cat describe.out; fail "another reason, or none"; }
		found "not supported: $(sed -n 's/.*\(programs in the kernel need .*\)/\1/p' describe.out)"
		exit 0
	fi
	grep -q "$2" describe.out || { cat describe.out; fail "$1 does not work here"; }
}
