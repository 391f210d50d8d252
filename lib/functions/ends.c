#include "functions/ends.h"

#include "base/array.h"
#include "base/str.h"
#include "elf/file.h"
#include "functions/symbols.h"

#include <elf.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SYMBOLS = 1 << 22 };

/* Symbols of who does it, not of the libraries that offer it: these define them. In a static
 * program nothing is undefined. */
static const struct {
	const char *name;
	bool when_undefined, when_defined, when_static;
	size_t member; /* of functions_ends */
} marks[] = {
#define THROWS   offsetof(struct functions_ends, throws)
#define SWITCHES offsetof(struct functions_ends, switches)
    {"_Unwind_RaiseException", true, false, false, THROWS},
    {"__cxa_throw", true, true, true, THROWS},
    {"rust_panic", true, true, true, THROWS},
    {"objc_exception_throw", true, true, true, THROWS},
    {"swapcontext", true, false, true, SWITCHES},
    {"setcontext", true, false, true, SWITCHES},
    {"makecontext", true, false, true, SWITCHES},
    {"jump_fcontext", true, true, true, SWITCHES},
    {"ontop_fcontext", true, true, true, SWITCHES},
    {"ASYNC_start_job", true, false, false, SWITCHES}, /* of OpenSSL, and what follows */
    {"SSL_waiting_for_async", true, false, false, SWITCHES},
    {"SSL_get_all_async_fds", true, false, false, SWITCHES},
    {"SSL_get_changed_async_fds", true, false, false, SWITCHES},
};

/* OpenSSL's libraries have jobs with stacks of their own, which run for a program alone that starts
 * them, or sets SSL_MODE_ASYNC: that is a number, but such a program has to ask what a job waits
 * for. */
static const char *const only_for_users[] = {"libcrypto.so*", "libssl.so*"};

static void note(struct functions_ends *e, size_t member, const char *path)
{
	const char **at = (const char **)((char *)e + member);

	if (!*at)
		*at = str_base_name(path);
}

static void note_name(struct functions_ends *e, const char *name, bool is_undefined, bool is_static,
		      const char *path)
{
	for (size_t i = 0; i < ARRAY_NR(marks); i++)
		if ((is_static      ? marks[i].when_static
		     : is_undefined ? marks[i].when_undefined
				    : marks[i].when_defined) &&
		    strcmp(marks[i].name, name) == 0)
			note(e, marks[i].member, path);
}

static void note_symbol(struct functions_ends *e, const struct elf_file *f, const uint8_t *symbol,
			const struct elf_section *text, bool is_static, const char *path)
{
	uint32_t at;
	uint16_t section;

	memcpy(&at, symbol, sizeof(at));
	memcpy(&section, symbol + (elf_file_is_64(f) ? 6 : 14), sizeof(section));
	if (at < text->size && memchr(text->data + at, '\0', text->size - at))
		note_name(e, (const char *)text->data + at, section == SHN_UNDEF, is_static, path);
}

void functions_ends_add(struct functions_ends *e, const struct elf_file *f, const char *path)
{
	size_t bytes = elf_file_is_64(f) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), nr;
	struct elf_section table, text, unused;
	bool is_static = !elf_file_find_section(f, ".dynsym", &unused);

	if (functions_is_go(f))
		note(e, offsetof(struct functions_ends, moves), path);
	if (ARRAY_ANY(glob, only_for_users, ARRAY_NR(only_for_users),
		      fnmatch(*glob, str_base_name(path), 0) == 0))
		return;
	if (!functions_find_table(f, is_static ? SHT_SYMTAB : SHT_DYNSYM, &table, &text))
		return;
	nr = table.size / bytes;
	for (size_t i = 1; i < nr && i < MAX_SYMBOLS; i++)
		note_symbol(e, f, table.data + i * bytes, &text, is_static, path);
}

void functions_ends_reason(const struct functions_ends *e, char out[FUNCTIONS_ENDS_REASON_BYTES])
{
	*out = '\0';
	if (e->moves)
		snprintf(out, FUNCTIONS_ENDS_REASON_BYTES,
			 "Go (%.100s) moves stacks, and stops at a replaced return address",
			 e->moves);
	else if (e->throws)
		snprintf(out, FUNCTIONS_ENDS_REASON_BYTES,
			 "an exception thrown through it (%.100s can throw) would find a replaced "
			 "return address, and end the program",
			 e->throws);
	else if (e->switches)
		snprintf(out, FUNCTIONS_ENDS_REASON_BYTES,
			 "%.100s switches stacks: the kernel would return to the wrong one",
			 e->switches);
	str_disarm(out);
}

void functions_ends_decide(const struct functions_ends *e, const char *reason,
			   struct functions_place *p)
{
	if (p->ret == FUNCTIONS_RETURN_NONE || !*reason || (p->calls_nothing && !e->moves))
		return;
	p->ret = FUNCTIONS_RETURN_NONE;
	p->reason = reason;
}
