#!/usr/bin/env bash
# result.sh OUTDIR CHECK: what the check printed in the guest; ends as it did.
set -euo pipefail
if [[ -e $1/skipped ]]; then
	printf 'skip: %s\n' "$(<"$1/skipped")"
	exit 77
fi
[[ -s $1/$2.status ]] || { echo "FAILED: $2 did not run: see $1/boot.log" && exit 1; }
cat "$1/$2.log"
exit "$(<"$1/$2.status")"
