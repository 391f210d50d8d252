#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# An ordinary user's command at each kernel.perf_event_paranoid. Debian's kernel refuses him
# perf_event_open(2) at 3, which no other kernel does: then there are no counts, and none is 0. At 2
# there are those of user mode, at -1 all.
. "${0%/*}/lib.sh"
trap 'echo -1 >/proc/sys/kernel/perf_event_paranoid' EXIT
mkdir -p /etc
echo 'user:x:1000:1000::/tmp:/bin/sh' >/etc/passwd
chmod 777 .
spec fixed:instructions_retired:user fixed:instructions_retired software:task_clock \
	software:page_faults software:context_switches >own.cpspec
chmod 644 own.cpspec

# own LEVEL TURNS: the session LEVEL.TURNS of the loop, what it printed in LEVEL.TURNS.log, its
# counts in LEVEL.TURNS.csv.
own() {
	echo "$1" >/proc/sys/kernel/perf_event_paranoid
	su -s /bin/sh user -c "PATH=$PATH; cpuperf -o ./$1.$2 --spec-file=./own.cpspec -- loop $2" >$1.$2.log 2>&1 ||
		{ cat ./$1.$2.log; fail "level $1: cpuperf: $?"; }
	cpuperf_print --quiet --output-format=csv ./$1.$2 >$1.$2.csv || fail "level $1: cpuperf_print"
	cat ./$1.$2.log ./$1.$2.csv
}

# check LEVEL AWK: what the counts of the two sessions must be; with value(TURNS, LABEL) and
# state(TURNS, LABEL). Nothing that was not counted is 0.
check() {
	awk -F, -v level="$1" '
		function bad(text) { print "FAILED: level " level ": " text; failed = 1 }
		function value(turns, label) { return values[level "." turns ".csv", label] }
		function state(turns, label) { return states[level "." turns ".csv", label] }
		function all(wanted, label) {
			for (t = 1; t <= 6; t += 5)
				if (state(t "000000", label) != wanted) bad(label ": " state(t "000000", label))
		}
		FNR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		{ label = $C["label"]; sub(/^fixed:instructions_retired|^software:/, "", label) }
		{ states[FILENAME, label] = $C["state"]; values[FILENAME, label] = $C["value"] }
		$C["state"] != "ok" && $C["value"] != "" { bad("a number that was not counted: " $0) }
		END { '"$2"'
			exit failed > 0 }' "$1.1000000.csv" "$1.6000000.csv" || failed=1
}

for level in 2 3 -1; do
	own $level 1000000
	own $level 6000000
done
failed=0
# 20,000,000 instructions between them; as many with the kernel cut off as in user mode alone
exact='
	all("ok", ":user"); all("ok", ""); all("ok", "task_clock")
	d = value(6000000, ":user") - value(1000000, ":user")
	if (d < 19999000 || d > 20001000) bad("the loops differ by " d " instructions")'
check 2 "$exact"'
	if (value(6000000, "") != value(6000000, ":user")) bad("not of user mode alone")
	all("no permission", "page_faults"); all("no permission", "context_switches")'
check -1 "$exact"'
	if (value(6000000, "") <= value(6000000, ":user")) bad("the kernel is missing")
	all("ok", "page_faults"); all("ok", "context_switches")
	if (value(1000000, "page_faults") < 10) bad("hardly a page fault")'
check 3 '
	split(":user,,task_clock,page_faults,context_switches", label, ",")
	for (i = 1; i <= 5; i++) all("no permission", label[i])'

# says LEVEL PATTERN: in both answers.
says() {
	[ "$(grep -Ece "$2" -- "$1.1000000.log" "$1.6000000.log" | grep -c ':1$')" = 2 ] ||
		{ echo "FAILED: level $1: not once: $2"; failed=1; }
}
usage='^  [0-9.]+ .?s wall, [0-9.]+ % CPU: [0-9.]+ .?s user, [0-9.]+ .?s system'
faults='[1-9][0-9]* page faults, [0-9]+ context switches \(wait4\)$'
for level in 2 3 -1; do
	says $level '^loop [16]000000: exit status 0$'
	says $level "$usage"
done
says 2 "^  user mode only; $faults"
says 3 "^  no event of it was counted; $faults"
says 3 'not measured: .*\(this user may measure no process \(perf_event_paranoid is 3\)\)$'
says 2 '^To measure it in the kernel too, type one of these lines:$'
says 3 '^To measure it, type one of these lines:$'
for level in 2 3; do
	says $level '^  sudo chown root:1000 /.*/cpuperf && sudo chmod 0750 /.*/cpuperf && sudo setcap cap_perfmon'
	says $level '^  sudo sysctl kernel.perf_event_paranoid=1$'
done
grep -l 'wait4\|To measure\|not counted' -- -1.*.log && fail "level -1: not everything was measured"

# samples are refused as counts are
echo 3 >/proc/sys/kernel/perf_event_paranoid
su -s /bin/sh user -c "PATH=$PATH; cpuperf -o ./sampled --spec-file=$tree/specs/program.cpspec -- loop 1000" \
	>sampled.log 2>&1 || fail "level 3, samples: $?"
cat sampled.log
grep -Eq "^  no event of it was counted; $faults" sampled.log || fail "level 3: no answer"
grep -q '^No samples$' sampled.log || fail "level 3: samples"
exit $failed
