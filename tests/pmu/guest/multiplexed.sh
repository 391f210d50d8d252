#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# multiplexed.sh loop|cycles: twelve events on 7 counters. What is shown is scaled to what each event
# has when it is alone, and its running share is in the table, in the CSV and in the traces. What is
# steady: with one CPU all of a loop; with several the cycles, which an idle CPU has too.
. "${0%/*}/lib.sh"
rest='arch:unhalted_core_cycles fixed:cycle_counter:user arch:unhalted_core_cycles:user
	fixed:unhalted_core_cycles fixed:unhalted_core_cycles:user'
case $1 in
loop) steady='user|cycle_counter$|cycles$|retired$' ;;
cycles) steady='cycle_counter$|cycles$' ;;
esac
spec $seven >seven.cpspec
spec $rest >rest.cpspec
spec $seven $rest >many.cpspec

# values NAME...: of CPU 0, per second of the time that the event was enabled.
values() {
	for name; do
		rows "$name.csv" '$C["cpu"] == 0 && $C["label"] ~ steady {
			printf "%s %.0f\n", $C["label"], $C["value"] * 1e9 / $C["enabled_ns"] }' \
			"steady=$steady"
	done
}

[ "$1" != loop ] || busy 0
measure seven 1 500ms
measure rest 1 500ms
measure many 1 2s
idle
for name in seven rest; do
	rows $name.csv 'share() != 1 { bad("multiplexed, though all fits") }'
done
rows many.csv '$C["state"] != "ok" || share() < 0.3 || share() > 0.7 {
	bad("no running share of about a half") }
	$C["raw"] * 1.2 > $C["value"] { if ($C["value"] > 1e6) bad("not scaled") }'
values seven rest >alone.values
values many >many.values
[ -s many.values ] || fail "nothing is steady"
while read -r label many; do
	alone=$(awk -v label="$label" '$1 == label { print $2 }' alone.values)
	echo "$label: $many a second scaled, $alone alone"
	near "$many" "$alone" 5 || fail "$label: more than 5 % off"
done <many.values

print many csv
cmp many.csv many.read || fail "the traces say something else than the table"
print many text
grep -Eq '/s +[3-7][0-9]%$' many.read || { cat many.read; fail "no running share in print"; }
measure many 1 200ms --output-format=text
grep -Eq '[0-9] \([3-7][0-9]%\)' many.csv || { cat many.csv; fail "no running share in the table"; }
