#!/usr/bin/env bash
# kernels.sh OUTDIR [KERNEL...]: boots the kernels of table, or those named, with the checks that it
# has for them, and prints what was found as a table. A kernel that cannot be had is a row, too; where
# none can be had the test is skipped. Only in scripts/test --long, or with kernels named.
set -euo pipefail
cd "$(dirname "$0")/../.."
table=tests/pmu/table out=$1
shift
if [[ $# == 0 && ${CPUPERF_TEST_LONG:-0} != 1 ]]; then
	echo 'skip: other kernels are booted by scripts/test --long'
	exit 77
fi
[[ $# -gt 0 ]] || mapfile -t names < <(sed -n 's/^kernel *| *\([^ |]*\).*/\1/p' "$table")
[[ $# == 0 ]] || names=("$@")
rm -rf "$out"
mkdir -p "$out"
export CI='' # a kernel that cannot be had is said, and is no failure
scripts/pmu-vm/build amd64 >"$out/build.log" 2>&1 || { cat "$out/build.log" && exit 1; }

boot() {
	local name=$1 options status=0
	read -r -a options <<<"$(sed -n "s/^kernel *| *$name *| *//p" "$table")"
	mkdir -p "$out/$name"
	# shellcheck disable=SC2016 # the guest's variables
	scripts/pmu-vm/run -k "$name" "${options[@]}" -t 900 -o "$out/$name" -- sh -c \
		'uname -r >"$OUT/release"; exec tests/pmu/guest/all.sh kernel' >"$out/$name/boot.log" 2>&1 || status=$?
	echo "$status" >"$out/$name/status"
}

# Two at a time.
for name in "${names[@]}"; do
	while (($(jobs -pr | wc -l) >= 2)); do wait -n || true; done
	boot "$name" &
done
wait

failed=0 ran=0
row() { printf '%-16s  %-26s  %-9s  %s\n' "$@"; }
row kernel release check found
for name in "${names[@]}"; do
	folder=$out/$name
	if [[ $(<"$folder/status") == 77 ]]; then
		row "$name" - - "$(grep -h '^skip: ' "$folder/boot.log" | head -n 1)"
		continue
	fi
	release=$(cat "$folder/release" 2>/dev/null || echo '?')
	if [[ ! -s $folder/release || $(<"$folder/status") != 0 ]]; then
		row "$name" "$release" boot FAILED
		tail -n 20 "$folder/boot.log"
		failed=1
	fi
	while read -r check; do
		status=$(cat "$folder/$check.status" 2>/dev/null || echo none)
		while IFS= read -r found; do
			row "$name" "$release" "$check" "$found"
		done < <(sed -n 's/^found: //p' "$folder/$check.log" 2>/dev/null || true)
		[[ $status == 0 ]] || {
			row "$name" "$release" "$check" "FAILED: status $status"
			cat "$folder/$check.log" || true
			failed=1
		}
		ran=$((ran + 1))
	done < <(sed -n 's/^check *| kernel *| *\([^ |]*\).*/\1/p' "$table")
done
[[ $ran != 0 ]] || { echo "skip: none of the kernels can be had: ${names[*]}" && exit 77; }
exit "$failed"
