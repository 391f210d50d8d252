#include "wire/loadable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	MAX_SCRIPTS = 5,      /* as the kernel: scripts whose interpreter is a script */
	SCRIPT_BYTES = 256,   /* so much of its first line is read */
	MAX_HEADERS = 128,    /* program headers that are looked at */
	MAX_DYNAMIC = 4096,   /* entries */
	LOADER_BYTES = 256,   /* of its path */
	DYNAMIC_AT_ONCE = 32, /* entries */
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { OWN_ORDER = ELFDATA2LSB };
#else
enum { OWN_ORDER = ELFDATA2MSB };
#endif

/* Programs that load an agent of this machine: our own kind first. */
struct kind {
	uint8_t class;
	uint16_t machine;
	const char *loader;
};

static const struct kind kinds[] = {
#if defined(__x86_64__)
    {ELFCLASS64, EM_X86_64, "/lib64/ld-linux-x86-64.so.2"},
    {ELFCLASS32, EM_386, "/lib/ld-linux.so.2"},
#elif defined(__i386__)
    {ELFCLASS32, EM_386, "/lib/ld-linux.so.2"},
    {ELFCLASS64, EM_X86_64, "/lib64/ld-linux-x86-64.so.2"},
#elif defined(__aarch64__)
    {ELFCLASS64, EM_AARCH64, "/lib/ld-linux-aarch64.so.1"},
#else
    {ELFCLASSNONE, EM_NONE, ""},
#endif
};

/* A program that is judged. */
struct judged_file {
	int fd;
	bool is_32;
	uint16_t nr_headers;
	uint64_t headers;
};

/* Those of libc are points of cancellation, which exec is not. */
static int open_at(int dir, const char *path)
{
	return (int)syscall(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static void close_file(int fd)
{
	(void)syscall(SYS_close, fd);
}

static bool read_at(int fd, void *to, size_t bytes, uint64_t from)
{
	return syscall(SYS_pread64, fd, to, bytes, from) == (long)bytes;
}

static const char *name_of(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

static void set_name(struct loadable_judged *out, const char *path)
{
	const char *name = name_of(path);
	size_t len = 0;

	for (; name[len] && len + 1 < sizeof(out->name); len++)
		out->name[len] = name[len];
	out->name[len] = '\0';
}

/* --- the parts of a program */

static bool read_header(const struct judged_file *f, unsigned int i, Elf64_Phdr *h)
{
	Elf32_Phdr h32;

	if (i >= f->nr_headers || i >= MAX_HEADERS)
		return false;
	if (!f->is_32)
		return read_at(f->fd, h, sizeof(*h), f->headers + i * sizeof(*h));
	if (!read_at(f->fd, &h32, sizeof(h32), f->headers + i * sizeof(h32)))
		return false;
	*h = (Elf64_Phdr){.p_type = h32.p_type,
			  .p_offset = h32.p_offset,
			  .p_vaddr = h32.p_vaddr,
			  .p_filesz = h32.p_filesz};
	return true;
}

static size_t dynamic_bytes(const struct judged_file *f)
{
	return f->is_32 ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
}

/* Of its dynamic section. */
static bool read_entries(const struct judged_file *f, const Elf64_Phdr *dynamic, uint64_t first,
			 Elf64_Dyn *d, size_t nr)
{
	const size_t bytes = dynamic_bytes(f);

	if (!read_at(f->fd, d, nr * bytes, dynamic->p_offset + first * bytes))
		return false;
	/* from the last one: each goes behind what it is made of */
	for (size_t i = nr; f->is_32 && i-- > 0;) {
		Elf32_Dyn d32;

		memcpy(&d32, (const char *)d + i * sizeof(d32), sizeof(d32));
		d[i] = (Elf64_Dyn){.d_tag = d32.d_tag, .d_un.d_val = d32.d_un.d_val};
	}
	return true;
}

static bool find_header(const struct judged_file *f, uint32_t type, Elf64_Phdr *h)
{
	for (unsigned int i = 0; read_header(f, i, h); i++)
		if (h->p_type == type)
			return true;
	return false;
}

/* Where in the file an address is. 0: nowhere. */
static uint64_t offset_of(const struct judged_file *f, uint64_t address)
{
	Elf64_Phdr h;

	for (unsigned int i = 0; read_header(f, i, &h); i++)
		if (h.p_type == PT_LOAD && address - h.p_vaddr < h.p_filesz)
			return h.p_offset + (address - h.p_vaddr);
	return 0;
}

/* Of this process, which has the library. */
static const char *own_loader(void)
{
	const ElfW(Phdr) *h = (const void *)getauxval(AT_PHDR);
	const char *found = NULL;
	uint64_t nr = getauxval(AT_PHNUM), base = 0;

	for (uint64_t i = 0; h && i < nr; i++)
		if (h[i].p_type == PT_PHDR)
			base = (uintptr_t)h - h[i].p_vaddr;
	for (uint64_t i = 0; h && i < nr; i++)
		if (h[i].p_type == PT_INTERP)
			found = (const char *)(uintptr_t)(base + h[i].p_vaddr);
	return found ? found : kinds[0].loader;
}

/* Also by another path, as where /lib64 is a link to /usr/lib64. */
static bool is_loader_of(const struct kind *kind, const char *path)
{
	const char *loader = kind == kinds ? own_loader() : kind->loader;
	struct stat a, b;

	return strncmp(path, loader, LOADER_BYTES) == 0 ||
	       (stat(path, &a) == 0 && stat(loader, &b) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino);
}

bool loadable_is_sanitizer(const char *path, size_t len)
{
	static const char *const prefixes[] = {
	    "libasan.",         "libtsan.",          "liblsan.",         "libmsan.",
	    "libhwasan.",       "libclang_rt.asan",  "libclang_rt.tsan", "libclang_rt.lsan",
	    "libclang_rt.msan", "libclang_rt.hwasan"};
	size_t from = len;

	while (from && path[from - 1] != '/')
		from--;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (len - from >= n && strncmp(path + from, prefixes[i], n) == 0)
			return true;
	}
	return false;
}

/* Of the libraries that it needs itself; strings: the offset of their names. */
static bool has_sanitizer(const struct judged_file *f, const Elf64_Phdr *dynamic, uint64_t strings)
{
	Elf64_Dyn d[DYNAMIC_AT_ONCE];
	uint64_t nr = dynamic->p_filesz / dynamic_bytes(f);

	for (uint64_t i = 0; i < nr && i < MAX_DYNAMIC; i += DYNAMIC_AT_ONCE) {
		uint64_t some = nr - i < DYNAMIC_AT_ONCE ? nr - i : DYNAMIC_AT_ONCE;

		if (!read_entries(f, dynamic, i, d, some))
			return false;
		for (uint64_t k = 0; k < some && d[k].d_tag != DT_NULL; k++) {
			char name[40] = "";

			if (d[k].d_tag != DT_NEEDED)
				continue;
			(void)syscall(SYS_pread64, f->fd, name, sizeof(name) - 1,
				      strings + d[k].d_un.d_val);
			if (loadable_is_sanitizer(name, strlen(name)))
				return true;
		}
	}
	return false;
}

/* The offset of the names of libraries; 0: there are none. */
static uint64_t find_strings(const struct judged_file *f, const Elf64_Phdr *dynamic)
{
	uint64_t nr = dynamic->p_filesz / dynamic_bytes(f);
	Elf64_Dyn d;

	for (uint64_t i = 0; i < nr && i < MAX_DYNAMIC; i++) {
		if (!read_entries(f, dynamic, i, &d, 1) || d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == DT_STRTAB)
			return offset_of(f, d.d_un.d_ptr);
	}
	return 0;
}

/* That of i386 without a number has 16 bits. */
#if defined(__i386__)
enum { GETUID = SYS_getuid32, GETGID = SYS_getgid32 };
#else
enum { GETUID = SYS_getuid, GETGID = SYS_getgid };
#endif

/* As the kernel: then its loader ignores libraries that are preloaded. */
static bool gains_rights(int fd)
{
	struct stat st;
	char data[64];

	if (fstat(fd, &st))
		return true;
	return (st.st_mode & S_ISUID && st.st_uid != (uid_t)syscall(GETUID)) ||
	       (st.st_mode & S_ISGID && st.st_mode & S_IXGRP &&
		st.st_gid != (gid_t)syscall(GETGID)) ||
	       (syscall(GETUID) &&
		syscall(SYS_fgetxattr, fd, "security.capability", data, sizeof(data)) > 0);
}

static enum loadable judge_program(const struct judged_file *f, const struct kind *kind)
{
	char loader[LOADER_BYTES] = "";
	uint64_t strings;
	Elf64_Phdr h;

	if (!find_header(f, PT_INTERP, &h))
		return LOADABLE_STATIC;
	if (h.p_filesz > LOADER_BYTES || !read_at(f->fd, loader, h.p_filesz, h.p_offset) ||
	    loader[LOADER_BYTES - 1] || !is_loader_of(kind, loader))
		return LOADABLE_LOADER;
	if (gains_rights(f->fd))
		return LOADABLE_RIGHTS;
	if (!find_header(f, PT_DYNAMIC, &h))
		return LOADABLE_STATIC;
	strings = find_strings(f, &h);
	if (strings && has_sanitizer(f, &h, strings))
		return LOADABLE_SANITIZER;
	return kind == kinds ? LOADABLE_YES : LOADABLE_OTHER;
}

/* By the first bytes of its file. */
static enum loadable judge_elf(int fd, const char *bytes, size_t len)
{
	struct judged_file f = {.fd = fd};
	const struct kind *kind = NULL;
	uint16_t header_bytes;
	Elf64_Ehdr e = {0};
	Elf32_Ehdr e32 = {0};

	memcpy(&e, bytes, len < sizeof(e) ? len : sizeof(e));
	memcpy(&e32, bytes, len < sizeof(e32) ? len : sizeof(e32));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (e.e_ident[EI_CLASS] == kinds[i].class && e.e_machine == kinds[i].machine)
			kind = &kinds[i];
	if (!kind || e.e_ident[EI_DATA] != OWN_ORDER)
		return LOADABLE_FOREIGN;
	f.is_32 = kind->class == ELFCLASS32;
	f.nr_headers = f.is_32 ? e32.e_phnum : e.e_phnum;
	f.headers = f.is_32 ? e32.e_phoff : e.e_phoff;
	header_bytes = f.is_32 ? e32.e_phentsize : e.e_phentsize;
	if (header_bytes != (f.is_32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr)))
		return LOADABLE_FOREIGN;
	return judge_program(&f, kind);
}

/* --- scripts */

/* The interpreter of a first line, "#! /bin/sh -e"; false: it is none. */
static bool parse_script(char *line, size_t len, char **interpreter)
{
	size_t from = 2, to;

	if (len < 2 || line[0] != '#' || line[1] != '!')
		return false;
	while (from < len && (line[from] == ' ' || line[from] == '\t'))
		from++;
	for (to = from; to < len; to++)
		if (line[to] == ' ' || line[to] == '\t' || line[to] == '\n' || !line[to])
			break;
	line[to] = '\0';
	*interpreter = line + from;
	return to > from;
}

/* One file; *next: the interpreter that is judged in its place, in line. */
static enum loadable judge_file(int fd, char line[SCRIPT_BYTES + 1], const char **next)
{
	long len = syscall(SYS_pread64, fd, line, SCRIPT_BYTES, UINT64_C(0));
	char *interpreter;

	if (len < 0)
		return LOADABLE_UNREADABLE;
	if (len >= EI_NIDENT && memcmp(line, ELFMAG, SELFMAG) == 0)
		return judge_elf(fd, line, (size_t)len);
	*next = parse_script(line, (size_t)len, &interpreter) ? interpreter : "/bin/sh";
	return LOADABLE_YES;
}

/* Closes the file. */
static void judge(int fd, struct loadable_judged *out)
{
	char line[SCRIPT_BYTES + 1] = "";
	const char *next;

	for (int i = 0;; i++) {
		next = NULL;
		out->answer = fd < 0 ? LOADABLE_UNREADABLE : judge_file(fd, line, &next);
		if (fd >= 0)
			close_file(fd);
		if (!next)
			return;
		if (i == MAX_SCRIPTS) {
			out->answer = LOADABLE_UNREADABLE;
			return;
		}
		set_name(out, next);
		fd = open_at(AT_FDCWD, next);
	}
}

void loadable_judge(int dir, const char *path, struct loadable_judged *out)
{
	int error = errno;

	set_name(out, path);
	judge(open_at(dir, path), out);
	errno = error;
}

void loadable_judge_open(int fd, struct loadable_judged *out)
{
	static const char folder[] = "/proc/self/fd/";
	char path[sizeof(folder) + 3 * sizeof(fd)];
	char digits[3 * sizeof(fd)], *to = path + sizeof(folder) - 1;
	unsigned int n = (unsigned int)fd;
	int error = errno, nr = 0, again;

	memcpy(path, folder, sizeof(folder));
	do
		digits[nr++] = (char)('0' + n % 10);
	while (n /= 10);
	while (nr)
		*to++ = digits[--nr];
	*to = '\0';
	set_name(out, path);
	again = open_at(AT_FDCWD, path);
	/* without /proc */
	judge(again >= 0 ? again : (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0), out);
	errno = error;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

void loadable_judge_named(const char *folders, const char *name, struct loadable_judged *out)
{
	const size_t name_len = strlen(name);
	int error = errno;
	char path[PATH_MAX];

	if (memchr(name, '/', name_len)) {
		loadable_judge(AT_FDCWD, name, out);
		return;
	}
	set_name(out, name);
	out->answer = LOADABLE_UNREADABLE;
	for (folders = folders ? folders : "/bin:/usr/bin"; name_len && name_len < PATH_MAX;
	     folders++) {
		size_t len = 0;

		while (folders[len] && folders[len] != ':')
			len++;
		if (len + name_len + 2 <= sizeof(path)) {
			memcpy(path, folders, len);
			path[len] = '/';
			memcpy(path + len + !!len, name, name_len + 1);
			if (is_program(path)) {
				loadable_judge(AT_FDCWD, path, out);
				break;
			}
		}
		folders += len;
		if (!*folders)
			break;
	}
	errno = error;
}

/* --- filters of system calls */

enum { STATUS_BYTES = 512 }; /* of /proc/self/status at a time */

/* Of the line that begins so. LOADABLE_NOT_KNOWN: there is none. */
static uint32_t read_status(int fd, const char *name)
{
	char text[STATUS_BYTES + 1];
	const size_t name_len = strlen(name);
	uint64_t from = 0;
	long len;

	while ((len = syscall(SYS_pread64, fd, text, STATUS_BYTES, from)) > (long)name_len) {
		text[len] = '\0';
		for (long i = 0; i + (long)name_len < len; i++)
			if (text[i] == '\n' && strncmp(text + i + 1, name, name_len) == 0) {
				/* from there, in case the number is cut */
				char number[32] = "";
				uint32_t n = 0;

				(void)syscall(SYS_pread64, fd, number, sizeof(number) - 1,
					      from + (uint64_t)i + 1 + name_len);
				for (const char *c = number; *c && *c != '\n'; c++)
					if (*c >= '0' && *c <= '9')
						n = n * 10 + (uint32_t)(*c - '0');
				return n;
			}
		from += (uint64_t)len - name_len;
	}
	return LOADABLE_NOT_KNOWN;
}

uint32_t loadable_nr_filters(void)
{
	const int error = errno, fd = open_at(AT_FDCWD, "/proc/self/status");
	uint32_t mode, nr = LOADABLE_NOT_KNOWN;

	if (fd < 0) {
		errno = error;
		return LOADABLE_NOT_KNOWN;
	}
	mode = read_status(fd, "Seccomp:");
	if (mode)
		nr = read_status(fd, "Seccomp_filters:");
	/* a kernel without them has no such line */
	if (!mode || (mode == LOADABLE_NOT_KNOWN && nr == LOADABLE_NOT_KNOWN))
		nr = 0;
	close_file(fd);
	errno = error;
	return nr;
}

const char *loadable_reason(enum loadable answer)
{
	switch (answer) {
	case LOADABLE_YES:
		return "can load cpuperf's agent";
	case LOADABLE_UNREADABLE:
		return "cannot be read";
	case LOADABLE_OTHER: /* where that is not installed */
	case LOADABLE_FOREIGN:
		return "is a program for another kind of machine than cpuperf's agent";
	case LOADABLE_STATIC:
		return "is linked statically: it loads no agent";
	case LOADABLE_LOADER:
		return "has another loader than cpuperf, as with another C library (musl): "
		       "cpuperf's agent is for its own";
	case LOADABLE_RIGHTS:
		return "has more rights than its user (setuid, setgid or capabilities): its loader "
		       "loads no agent";
	case LOADABLE_SANITIZER:
		return "is linked with a sanitizer, which must be the first in front of malloc";
	}
	return "";
}
