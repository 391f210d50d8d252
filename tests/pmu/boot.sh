#!/usr/bin/env bash
# boot.sh BOOT OUTDIR OPTION...: boots a guest with these options of scripts/pmu-vm/run, and leaves in
# OUTDIR what each check of this boot printed, and how it ended. Fails only if the guest does. The
# limit is for a guest that hangs: an emulated CPU among others' programs may take minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
boot=$1 out=$2
shift 2
rm -rf "$out"
mkdir -p "$out"
status=0
scripts/pmu-vm/run "$@" -t 900 -o "$out" -- tests/pmu/guest/all.sh "$boot" 2>&1 |
	tee "$out/boot.log" || status=$?
[[ $status != 77 ]] || sed -n 's/^skip: //p' "$out/boot.log" >"$out/skipped"
printf '%s: %s hardware checks ran\n' "$boot" "$(find "$out" -name '*.status' | wc -l)"
exit "$status"
