# Sourced by the scripts of this folder: where things are, and what a guest is made of.
# shellcheck shell=bash source-path=SCRIPTDIR
# A guest is a Debian arm64 kernel on QEMU's emulated PMU, with our programs in an initrd, or an amd64
# kernel of any Debian release, without a PMU. Knows nothing of what is run in it.
from=$PWD # where the caller stands; ../common.sh goes to the top of the tree
# shellcheck source=../common.sh
. "${BASH_SOURCE[0]%/*}/../common.sh"
self=scripts/pmu-vm/${0##*/}
top=$PWD
vm=$top/build/pmu-vm       # kernel/, modules/, sysroot/: made by setup
kernels=$top/build/kernels # NAME/{vmlinuz,release,guest.cpio}: made by kernel
# shellcheck disable=SC2034 # for setup and kernel
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Where the PMU is not optional, what cannot run has failed.
skip() {
	[[ ${CI:-} != true ]] || die "the hardware tests cannot run: $*"
	printf 'skip: %s\n' "$*"
	exit 77
}

# need_host_tools pmu|kernels: what the host must have, installed if it may be.
need_host_tools() {
	local log what=$1
	log=$(scripts/deps "$what" 2>&1 </dev/null) ||
		skip "no emulated machine: ${log//$'\n'/; } (scripts/deps $what as root installs it)"
}

# The architecture, and the names of Debian's packages, are those of this machine.
need_amd64() {
	[[ $(uname -m) == x86_64 ]] || skip "other kernels: they are for x86-64, this machine is not"
}
kernel='' # the name of one, for machines that boot it
model=neoverse-n1 # of the CPUs of others

# make_apt FOLDER ARCHITECTURE: an apt of its own: its state, cache and list of installed packages
# (none) are below FOLDER; its sources.list is on stdin.
make_apt() {
	local folder=$1
	mkdir -p "$folder"/{etc/{apt.conf.d,preferences.d},state/lists/partial,cache/archives/partial}
	: >"$folder/state/status"
	cat >"$folder/etc/sources.list"
	apt-config dump Acquire >"$folder/apt.conf" # proxies
	cat >>"$folder/apt.conf" <<-END
		APT::Architecture "$2";
		APT::Architectures { "$2"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "$(id -un)";
		Dir::Etc "$folder/etc";
		Dir::Etc::sourceparts "-";
		Dir::State "$folder/state";
		Dir::State::status "$folder/state/status";
		Dir::Cache "$folder/cache";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Debug::NoLocking "1";
	END
}

# The library of that name: of the sysroot, or (sanitizers) of the cross compiler; of this machine.
find_library() {
	local folder found=''
	if [[ $machine == arm64 ]]; then
		for folder in "$vm"/sysroot/{lib,usr/lib}/aarch64-linux-gnu "$vm/sysroot/lib" \
			/usr/aarch64-linux-gnu/lib; do
			[[ ! -e $folder/$1 ]] || { printf '%s' "$folder/$1" && return; }
		done
	else
		found=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p |
			awk -v name="$1" '$1 == name && /x86-64/ && !n++ { print $NF }')
		[[ -z $found ]] || { printf '%s' "$found" && return; }
	fi
	die "no $machine library $1: is its package in scripts/pmu-vm/setup?"
}

# use_build NAME: of what machine its programs are.
use_build() {
	machine=arm64 readelf=aarch64-linux-gnu-readelf loader=$vm/sysroot/lib/ld-linux-aarch64.so.1
	terminfo=$vm/sysroot/lib/terminfo/x/xterm
	[[ $1 == amd64 ]] || return 0
	machine=amd64 readelf=readelf loader=/lib64/ld-linux-x86-64.so.2
	terminfo=/lib/terminfo/x/xterm
}

# add_libraries ROOT PROGRAM...: copies what the programs are linked with, and what that is.
add_libraries() {
	local root=$1 name
	shift
	while read -r name; do
		[[ ! -e $root/lib/$name ]] || continue
		cp -L "$(find_library "$name")" "$root/lib/$name"
		add_libraries "$root" "$root/lib/$name"
	done < <("$readelf" -d "$@" 2>/dev/null |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u)
}

# cpio_of FOLDER: an archive of the names on stdin, in the form that the kernel unpacks.
cpio_of() { (cd "$1" && cpio -o -H newc -R 0:0 --quiet); }

# make_image FOLDER: FOLDER/guest.cpio: what a guest boots with, and the programs in FOLDER/bin.
make_image() {
	local root=$1/guest more=()
	rm -rf "$root"
	mkdir -p "$root"/{bin,lib,proc,sys,dev,tmp,run,modules}
	if [[ $machine == arm64 ]]; then # others have them with each kernel
		cp "$vm/sysroot/bin/busybox" "$root/bin/"
		cp "$vm"/modules/*.ko "$root/modules/"
	else
		ln -s lib "$root/lib64"
	fi
	install -m 755 scripts/pmu-vm/init "$root/init"
	cp -L "$loader" "$root/lib/"
	install -D -m 644 "$terminfo" "$root/lib/terminfo/x/xterm"
	add_libraries "$root" "$1"/bin/* "$1"/lib/cpuperf/*.so
	cp -L "$(find_library libpfm.so.4)" "$root/lib/" # loaded when a CPU model is looked for
	[[ ! -d $1/narrow ]] || more+=("$1/narrow") # programs of 32 bits
	{ (cd "$root" && find . | cpio_of .) && take_along "$1"/{bin,share} "$1"/lib/*.so* "$1/lib/cpuperf" "${more[@]}"; } >"$root.part"
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
	[[ -e $top/build/$1/guest.cpio && ($1 == amd64 || -e $vm/packages) ]] ||
		scripts/pmu-vm/build "$1" >&2
	printf '%s' "$top/build/$1/guest.cpio"
}

# qemu CPUS ICOUNT SECONDS INITRD OPTION...: with ICOUNT 1 the guest's clock counts instructions,
# which is what makes its PMU count them too (exactly, and the same on every run). SECONDS 0: no
# limit. Where $kernel names one, the machine is amd64, in real time.
qemu() {
	local nr_cpus=$1 clock=() seconds=$3 initrd=$4
	[[ $2 == 0 ]] || clock=(-icount "shift=2,sleep=off")
	shift 4
	if [[ -n $kernel ]]; then
		timeout --foreground -k 5 "$seconds" qemu-system-x86_64 -M q35 -accel tcg,thread=single -cpu max \
			-smp "$nr_cpus" -m 1024 -nodefaults -display none -no-reboot \
			-kernel "$kernels/$kernel/vmlinuz" -initrd "$initrd" \
			-append "console=ttyS0 quiet panic=-1 cryptomgr.notests mitigations=off" "$@"
		return
	fi
	timeout --foreground -k 5 "$seconds" qemu-system-aarch64 -M virt,gic-version=3 \
		-cpu "$model" -smp "$nr_cpus" -m 1024 "${clock[@]}" -nodefaults -display none \
		-no-reboot -kernel "$vm/kernel/vmlinuz" -initrd "$initrd" \
		-append "console=ttyAMA0 quiet panic=-1 cryptomgr.notests" "$@"
}

# make_initrd FOLDER IMAGE FILE...: FOLDER/initrd: the image, the guest's orders in FOLDER/orders,
# the tree's own files as they are now, and files of the host.
make_initrd() {
	local folder=$1 image=$2
	shift 2
	{
		[[ -z $kernel ]] || cat "$kernels/$kernel/guest.cpio"
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
