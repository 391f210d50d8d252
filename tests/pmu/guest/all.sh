#!/bin/sh
# shellcheck shell=dash
# all.sh BOOT: runs, in the guest, the checks that ../table has for this boot; of each, output and
# status are left in $OUT.
here=$(cd "${0%/*}" && pwd)
PATH=$here:$PATH
export CPUPERF_COLUMNS=100000 # no sentence is broken in a pipe: each is found
# Looking for leaks takes minutes here: its threads wait for one another by spinning.
[ "$1" != asan ] || export ASAN_OPTIONS=detect_leaks=0
sed -n "s/^check *| *$1 *| *//p" "$here/../table" | while IFS='|' read -r name command; do
	name=${name%% *}
	# shellcheck disable=SC2086 # a command and its arguments
	$command >"$OUT/$name.log" 2>&1 </dev/null
	status=$?
	echo $status >"$OUT/$name.status"
	echo "$name: status $status, guest up for $(cut -d ' ' -f 1 /proc/uptime) s"
done
