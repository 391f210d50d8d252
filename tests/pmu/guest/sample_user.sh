#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# A loop of 100 million instructions in user mode and much work of the kernel, each sampled by itself
# every million: user's samples are in the one loop that there is, the kernel's are in the kernel.
. "${0%/*}/lib.sh"
spec fixed:instructions_retired:user+pc@1000000 arch:instructions_retired:os+pc@1000000 >user.cpspec
measure user 1 1200ms &
session=$!
await user 0
loop 25000000 &
loop=$!
wait $loop
dd if=/dev/urandom of=/dev/null bs=1M count=8
wait $session || exit 1
cat user.log
tell user 100000
adds_up user 0x1001 0x802

# Without interrupts that cannot be masked, a sample that falls due while the kernel has them off
# comes when it turns them on: some of the kernel's on its way back to a program, and some of what ran before the loop
# within it.
awk -F '[:, ]+' -v pid="$(printf 0x%x $loop)" -v program="$(which loop)" "$functions"'
	BEGIN { load_functions(program); user = "0x1001"; os = "0x802" }
	$2 != "PC" { next }
	{ all[$4]++; in_kernel[$4] += length($8) == 18 }
	$6 == pid && function_of($8) == "main" { in_loop[$4]++; pcs[$8] }
	END {
		for (pc in pcs) nr_pcs++
		print "user: " all[user] ", in the kernel " in_kernel[user] ", in the loop " \
			in_loop[user] + 0 " at " nr_pcs " addresses"
		print "os: " all[os] ", in the kernel " in_kernel[os] ", in the loop " \
			in_loop[os] + 0
		exit in_loop[user] < 95 || in_loop[user] > 105 || nr_pcs > 4 ||
			in_kernel[user] > 10 || in_loop[os] > 10 || in_kernel[os] < 100
	}' user.read || fail "samples at wrong places"
