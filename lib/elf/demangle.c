/*
 * libiberty's demanglers, with their recursion limits. Output arrives in pieces. Self-referential
 * names grow exponentially, so longjmp abandons output beyond the limit; with callbacks the
 * demanglers own no memory, so nothing leaks.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "…"

struct text {
	char *out;
	size_t len;
	jmp_buf full;
};

static void add(const char *piece, size_t len, void *arg)
{
	struct text *t = arg;
	size_t room = ELF_MAX_NAME_BYTES - sizeof(ELLIPSIS) - t->len;

	if (!len) /* piece may be NULL */
		return;
	if (len > room) {
		memcpy(t->out + t->len, piece, room);
		t->len += room;
		longjmp(t->full, 1);
	}
	memcpy(t->out + t->len, piece, len);
	t->len += len;
}

typedef int demangle_fn(const char *name, int options, demangle_callbackref add, void *arg);

static bool run(demangle_fn *demangle, const char *name, int options, char *out)
{
	struct text t = {.out = out};

	if (setjmp(t.full)) {
		memcpy(t.out + t.len, ELLIPSIS, sizeof(ELLIPSIS));
		return true;
	}
	if (!demangle(name, options, add, &t) || !t.len)
		return false;
	t.out[t.len] = '\0';
	return true;
}

/* "…17h0123456789abcdefE", possibly with a suffix: Rust names in the form of C++ names. */
static bool is_legacy_rust(const char *name)
{
	const char *hash = strstr(name, "17h");

	for (; hash; hash = strstr(hash + 1, "17h"))
		if (strspn(hash + 3, "0123456789abcdef") == 16 && hash[19] == 'E')
			return true;
	return false;
}

static bool demangle(const char *name, char *out)
{
	if (name[0] != '_')
		return false;
	if (name[1] == 'R' || (name[1] == 'Z' && is_legacy_rust(name)))
		if (run(rust_demangle_callback, name, 0, out))
			return true;
	return name[1] == 'Z' &&
	       run(cplus_demangle_v3_callback, name, DMGL_PARAMS | DMGL_ANSI, out);
}

bool elf_demangle(const char *linkage_name, char out[ELF_MAX_NAME_BYTES])
{
	char plain[ELF_MAX_NAME_BYTES];
	size_t len = strnlen(linkage_name, sizeof(plain));
	const char *version = memchr(linkage_name, '@', len);

	/* an "@" at the start is part of the name */
	if (version && version != linkage_name)
		len = (size_t)(version - linkage_name);
	snprintf(plain, sizeof(plain), "%.*s%s",
		 (int)(len < sizeof(plain) ? len : sizeof(plain) - sizeof(ELLIPSIS)), linkage_name,
		 len < sizeof(plain) ? "" : ELLIPSIS);
	if (demangle(plain, out))
		return true;
	memcpy(out, plain, strlen(plain) + 1);
	return false;
}
