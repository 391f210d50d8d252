#!/usr/bin/env bash
# packages.sh: makes the packages deb and rpm, twice, in two copies of the tree in different folders, the second without
# ccache: their bytes are the same. Each file that is installed (tests/data/installed) is in the package that
# tests/data/packages says, and nothing else is but documents; lintian and rpmlint find no error; the base
# package needs what it must and no more. The packages rpm are installed into a root that has nothing but the libraries that
# they require, and measure there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
top=$(mktemp -d "${TMPDIR:-/var/tmp}/cpuperf-packages.XXXXXX")
trap 'rm -rf "$top"' EXIT

fail() { printf 'packages: %s\n' "$*" >&2; exit 1; }

formats=()
"$tree/scripts/deps" package >"$top/log" 2>&1 || { echo "skip: $(tail -n 1 "$top/log")" && exit 77; }
command -v dh_builddeb >/dev/null && formats+=(deb) || echo "skip: deb: no debhelper here"
command -v rpmbuild >/dev/null && formats+=(rpm) || echo "skip: rpm: no rpmbuild here"
[[ ${#formats[@]} -gt 0 ]] || { echo "skip: no format can be made here" && exit 77; }

# copy NAME: what git tracks or would, in a folder of its own.
copy() {
	mkdir -p "$top/$1"
	git -C "$tree" ls-files -z --cached --others --exclude-standard |
		tar -C "$tree" --null --ignore-failed-read -c -T - 2>/dev/null | tar -C "$top/$1" -x
}

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$tree" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
copy first
copy another/place
"$top/first/scripts/package" "${formats[@]}" --output="$top/one" >"$top/log" 2>&1 || fail "$(tail -n 30 "$top/log")"
CCACHE_DISABLE=1 TZ=Pacific/Kiritimati LC_ALL=C "$top/another/place/scripts/package" "${formats[@]}" --output="$top/two" \
	>"$top/log" 2>&1 || fail "$(tail -n 30 "$top/log")"
diff <(cd "$top/one" && sha256sum -- *) <(cd "$top/two" && sha256sum -- *) || fail "made twice, the packages differ"

is_document='^[^ ]* (/usr/share/(doc|licenses|lintian)/.*|/usr/lib/\.build-id.*)$'
# wanted COLUMN LIBDIR: "PACKAGE FILE" of each that is installed.
wanted() {
	local column=$1 libdir=$2 path pattern deb rpm without='^$'
	compgen -G "$top/one/cpuperf-slurm*" >/dev/null || without+='|slurm'
	grep -q libcpuperf-agent-i386 "$top"/first/build/package/*/build/cmake_install.cmake || without+='|i386'
	grep -v '^#' "$here/../data/installed" | grep -vP "\t($without)\$" | cut -f 1 | while read -r path; do
		while IFS=$'\t' read -r pattern deb rpm; do
			# shellcheck disable=SC2053 # a pattern
			[[ $path == $pattern ]] || continue
			[[ $path != share/man/* ]] || path+=.gz
			[[ $column == rpm ]] && deb=$rpm || path=${path/#share\/zsh\/site-functions/share/zsh/vendor-completions}
			printf '%s /usr/%s\n' "$deb" "${path/#LIBDIR/$libdir}"
			break
		done < <(grep -v '^#' "$here/../data/packages")
	done | LC_ALL=C sort | grep -vE "$is_document"
}

# install_rpms: the libraries are those of this machine, which another distribution has by the same names.
install_rpms() {
	local root=$top/root name path what
	{ [[ $(id -u) == 0 ]] && unshare --mount true 2>/dev/null; } || { echo "skip: rpm, installed: only root can enter a new root" && return; }
	mkdir -p "$root"/{dev,etc,lib64,proc,sys,tmp}
	rpm --root "$root" --nodeps -i "$top/one"/*.rpm >"$top/log" 2>&1 || fail "rpm does not install them: $(<"$top/log")"
	ldd "$root"/usr/bin/cpuperf "$root"/usr/bin/cpuperf_print "$root"/usr/lib64/libcpuperf.so.0 "$root"/usr/lib64/cpuperf/libcpuperf-agent.so |
		sed -n 's/^\t\(.* => \)\{0,1\}\(\/[^ ]*\) (.*/\2/p' | sort -u >"$top/libraries"
	while read -r path; do
		install -D "$path" "$root/lib64/${path##*/}"
		[[ $path != */ld-linux* || -e $root$path ]] || install -D "$path" "$root$path" # the path that programs name
	done <"$top/libraries"
	for name in $(rpm -qp --requires "$top/one"/*.rpm | sed -n 's/^\(lib[^(]*\)().*/\1/p' | sort -u); do
		[[ -e $root/lib64/$name ]] || fail "$name is required, and no file needs it"
	done
	printf '%s\n' /lib64 /usr/lib64 >"$root/etc/ld.so.conf"
	ldconfig -r "$root"
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --propagation private bash -euc '
		mount -t proc none "$1/proc" && mount --rbind /sys "$1/sys" && mount -t tmpfs none "$1/dev" && mkdir "$1/dev/shm"
		mknod -m 666 "$1/dev/null" c 1 3
		in_root() { chroot "$root" /usr/bin/"$@"; }
		root=$1
		in_root cpuperf -o /tmp/time -- /usr/bin/cpuperf_print --version && in_root cpuperf_print /tmp/time --report=tree
		in_root cpuperf -e heap:allocated -o /tmp/heap -- /usr/bin/cpuperf_print --version && in_root cpuperf_print /tmp/heap
		in_root cpuperf help waits' bash "$root" >"$top/log" 2>&1 </dev/null || fail "rpm, installed: $(<"$top/log")"
	for what in 'cpuperf_print --version: exit status 0' '^  allocated ' 'cpuperf-waits - '; do
		grep -q -- "$what" "$top/log" || fail "rpm, installed: no '$what': $(<"$top/log")"
	done
}

for format in "${formats[@]}"; do
	libdir=lib64
	[[ $format == rpm ]] || libdir=lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)
	for package in "$top/one"/*."$format"; do
		if [[ $format == deb ]]; then
			name=$(dpkg-deb -f "$package" Package)
			dpkg-deb --fsys-tarfile "$package" | tar -t | grep -v '/$' | sed "s|^\.|$name |"
		else
			name=$(rpm -qp --qf '%{NAME}' "$package")
			rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$package" | sed -n "s/^[^d][^ ]* /$name /p"
		fi
	done | LC_ALL=C sort | grep -vE "$is_document" >"$top/found"
	diff <(wanted "$format" "$libdir") "$top/found" || fail "$format: what is packed (>) differs from tests/data/installed and tests/data/packages (<)"
done

if [[ " ${formats[*]} " == *' deb '* ]]; then
	# A page of the manual for each of the source.
	diff <(cd "$tree/doc/manual" && printf '%s.html\n' *.md | sed 's/\.md\.html$/.html/') \
		<(dpkg-deb --fsys-tarfile "$top/one"/cpuperf_*.deb | tar -t | sed -n 's|.*/cpuperf/manual/\(.*\.html\)$|\1|p' |
			grep -vx '404.html\|search.html' | LC_ALL=C sort) || fail "pages of the manual: what is packed (>), and is not (<)"
	command -v lintian >/dev/null && { lintian --fail-on error "$top/one"/*.deb >"$top/log" 2>&1 || fail "$(<"$top/log")"; }
	# What is loaded when it is used must not be needed.
	dpkg-deb -f "$top/one"/cpuperf_*.deb Depends | grep -E 'curl|microhttpd|capstone|debuginfod' && fail "the base package needs more than it must"
	for name in Recommends:libmicrohttpd Suggests:libcapstone Suggests:libcurl Suggests:libdebuginfod; do
		dpkg-deb -f "$top/one"/cpuperf_*.deb "${name%:*}" | grep -q "${name#*:}" || fail "the base package lacks $name"
	done
fi
if [[ " ${formats[*]} " == *' rpm '* ]]; then
	rpm -qp --requires "$top/one"/cpuperf-[0-9]*.rpm | grep -E 'curl|microhttpd|capstone|libc\.so\.6\(GLIBC_[0-9.]*\)$' &&
		fail "the base package needs more than it must"
	rpm -qp --provides "$top/one"/cpuperf-[0-9]*.rpm | grep agent && fail "others can require the agents"
	install_rpms
	if command -v rpmlint >/dev/null; then
		rpmlint -c "$tree/packaging/rpmlint.toml" "$top/one"/*.rpm >"$top/log" 2>&1 || true
		! grep -E ': E: ' "$top/log" || fail "rpmlint finds errors"
	fi
fi
exit 0
