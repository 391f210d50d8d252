#!/bin/sh
# in_time.sh extra|whole COMMAND...: runs it, unless scripts/test has run for too long by now, on a slow machine.
# Tests with the label extra take minutes and find little that others do not: they must begin in the time of
# CPUPERF_TEST_EXTRA_UNTIL, others in that of CPUPERF_TEST_UNTIL (seconds since the epoch).
until=${CPUPERF_TEST_UNTIL:-}
[ "$1" != extra ] || until=${CPUPERF_TEST_EXTRA_UNTIL:-$until}
shift
if [ -n "$until" ] && [ "$(date +%s)" -ge "$until" ]; then
	echo "skip: the tests before took too long here: scripts/test -R NAME runs it"
	exit 77
fi
exec "$@"
