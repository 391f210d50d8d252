#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# One event under all its names counts the same: the kernel's generic one (fixed and arch), ARM's
# architectural name, libpfm4's, the kernel's published name and the raw encoding.
. "${0%/*}/lib.sh"
pmu=$(basename /sys/bus/event_source/devices/armv8_pmu*)
spec fixed:instructions_retired:user arch:instructions_retired:user arch:inst_retired:user \
	model:INST_RETIRED:user "model:$pmu/inst_retired/:user" model:r0008:user >forms.cpspec
measure forms 1 1s &
sleep 0.4
loop 5000000
wait $! || exit 1
cat forms.csv
rows forms.csv '
	$C["state"] != "ok" { bad("not counted") }
	{ if (!first) first = $C["value"]; nr++ }
	$C["value"] != first { bad("differs from " first) }
	$C["value"] < 20000000 { bad("the loop is not in it") }
	END { if (nr != 6) { print "FAILED: " nr " rows"; failed++ } }'
cpuperf --describe-event=model:inst_retired | grep -q 'config 0x8' || fail "no encoding of inst_retired"
cpuperf --list-events >list 2>list.log || fail "no list"
grep -q '^INST_RETIRED' list || fail "libpfm4's names are not listed"
