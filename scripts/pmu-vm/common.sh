# Sourced by the scripts of this folder: where things are, and what a guest is made of.
# shellcheck shell=bash source-path=SCRIPTDIR
# A guest is a Debian arm64 kernel on QEMU's emulated PMU, with our programs in an initrd. Knows
# nothing of what is run in it.
from=$PWD # where the caller stands; ../common.sh goes to the top of the tree
# shellcheck source=../common.sh
. "${BASH_SOURCE[0]%/*}/../common.sh"
self=scripts/pmu-vm/${0##*/}
top=$PWD
vm=$top/build/pmu-vm # kernel/, modules/, sysroot/: made by setup

# Where the PMU is not optional, what cannot run has failed.
skip() {
	[[ ${CI:-} != true ]] || die "the hardware tests cannot run: $*"
	printf 'skip: %s\n' "$*"
	exit 77
}

# What the host must have, installed if it may be.
need_host_tools() {
	local log
	log=$(scripts/deps pmu 2>&1 </dev/null) ||
		skip "no emulated PMU: ${log//$'\n'/; } (scripts/deps pmu as root installs it)"
}

# The arm64 library of that name: of the sysroot, or (sanitizers) of the cross compiler.
find_library() {
	local folder
	for folder in "$vm"/sysroot/{lib,usr/lib}/aarch64-linux-gnu "$vm/sysroot/lib" \
		/usr/aarch64-linux-gnu/lib; do
		[[ ! -e $folder/$1 ]] || { printf '%s' "$folder/$1" && return; }
	done
	die "no arm64 library $1: is its package in scripts/pmu-vm/setup?"
}

# add_libraries ROOT PROGRAM...: copies what the programs are linked with, and what that is.
add_libraries() {
	local root=$1 name
	shift
	while read -r name; do
		[[ ! -e $root/lib/$name ]] || continue
		cp -L "$(find_library "$name")" "$root/lib/$name"
		add_libraries "$root" "$root/lib/$name"
	done < <(aarch64-linux-gnu-readelf -d "$@" 2>/dev/null |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u)
}

# cpio_of FOLDER: an archive of the names on stdin, in the form that the kernel unpacks.
cpio_of() { (cd "$1" && cpio -o -H newc -R 0:0 --quiet); }

# make_image FOLDER: FOLDER/guest.cpio: what a guest boots with, and the programs in FOLDER/bin.
make_image() {
	local root=$1/guest
	rm -rf "$root"
	mkdir -p "$root"/{bin,lib,proc,sys,dev,tmp,run,modules}
	cp "$vm/sysroot/bin/busybox" "$root/bin/"
	cp "$vm"/modules/*.ko "$root/modules/"
	install -m 755 scripts/pmu-vm/init "$root/init"
	cp -L "$vm/sysroot/lib/ld-linux-aarch64.so.1" "$root/lib/"
	install -D -m 644 "$vm/sysroot/lib/terminfo/x/xterm" "$root/lib/terminfo/x/xterm"
	add_libraries "$root" "$1"/bin/*
	{ (cd "$root" && find . | cpio_of .) && take_along "$1"/{bin,share}; } >"$root.part"
	mv "$root.part" "$1/guest.cpio"
	rm -rf "$root"
}

# take_along FILE...: an archive of files and folders under their full names, which programs and
# tests know from their build.
take_along() { { parents "${@#/}" && (cd / && find "${@#/}"); } | cpio_of /; }

# The folders above each of the paths: the kernel makes none by itself.
parents() {
	local path
	for path; do
		while [[ $path == */* ]]; do
			path=${path%/*}
			printf '%s\n' "$path"
		done
	done | sort -u
}

# image_of BUILD: the path of its image; builds what is missing.
image_of() {
	[[ -e $top/build/$1/guest.cpio && -e $vm/packages ]] || scripts/pmu-vm/build "$1" >&2
	printf '%s' "$top/build/$1/guest.cpio"
}

# qemu CPUS ICOUNT SECONDS INITRD OPTION...: with ICOUNT 1 the guest's clock counts instructions,
# which is what makes its PMU count them too (exactly, and the same on every run). SECONDS 0: no
# limit.
qemu() {
	local nr_cpus=$1 clock=() seconds=$3 initrd=$4
	[[ $2 == 0 ]] || clock=(-icount "shift=2,sleep=off")
	shift 4
	timeout --foreground -k 5 "$seconds" qemu-system-aarch64 -M virt,gic-version=3 \
		-cpu neoverse-n1 -smp "$nr_cpus" -m 1024 "${clock[@]}" -nodefaults -display none \
		-no-reboot -kernel "$vm/kernel/vmlinuz" -initrd "$initrd" \
		-append "console=ttyAMA0 quiet panic=-1 cryptomgr.notests" "$@"
}

# make_initrd FOLDER IMAGE FILE...: FOLDER/initrd: the image, the guest's orders in FOLDER/orders,
# the tree's own files as they are now, and files of the host.
make_initrd() {
	local folder=$1 image=$2
	shift 2
	{
		cat "$image"
		printf 'orders\n' | cpio_of "$folder"
		take_along "$top"/{specs,schemas,tests} "$@"
	} >"$folder/initrd"
}

# write_orders FOLDER BUILD COMMAND...: what init obeys.
write_orders() {
	local file=$1/orders build=$2
	shift 2
	cat >"$file" <<-END
		export PATH=${top@Q}/build/$build/bin:\$PATH
		mkdir -p ${from@Q} && cd ${from@Q}
		run_orders() { ( ${@@Q} ); }
	END
}
