#include "heap.h"

#include "base/array.h"
#include "base/buf.h"
#include "elf/file.h"
#include "event/usdt.h"
#include "event/usdt_files.h"
#include "guests.h"
#include "session/plan.h"
#include "target/command.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { MAX_PRELOAD_BYTES = 128 << 10 };

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The loader drops what is preloaded where the program gets more rights. */
static bool gains_rights(const char *path)
{
	struct stat st;

	return (stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID)) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

/* NULL: none is named. */
static const char *loader_of(const struct elf_file *f)
{
	struct elf_section s;

	if (!elf_file_load_section(f, ".interp", &s) || !s.size || s.data[s.size - 1])
		return NULL;
	return (const char *)s.data;
}

/* Why the program cannot load the agent; NULL: it can. */
static const char *refuse_program(const struct elf_file *f, const char *path)
{
	const char *loader = loader_of(f);

	if (elf_file_machine(f) != OWN_MACHINE || elf_file_is_64(f) != (sizeof(void *) == 8))
		return "is a program for another kind of machine than cpuperf's agent";
	if (!loader)
		return "is linked statically: it loads no agent";
	if (strstr(loader, "ld-musl"))
		return "uses musl as C library: cpuperf's agent is for glibc";
	if (gains_rights(path))
		return "has more rights than its user (setuid, setgid or capabilities): its loader "
		       "loads no agent";
	return NULL;
}

static const char *refuse_library(const char *path)
{
	static const char *const prefixes[] = {"libasan.", "libtsan.", "liblsan.", "libmsan.",
					       "libhwasan."};

	return ARRAY_ANY(p, prefixes, ARRAY_NR(prefixes),
			 strncmp(name_of(path), *p, strlen(*p)) == 0)
		   ? "is linked with a sanitizer, which must be the first in front of malloc"
		   : NULL;
}

struct look {
	char *reason;
	bool has_program; /* the first file is the program, or that of a script */
};

static int look_at(const struct elf_file *f, const char *path, void *arg)
{
	struct look *look = arg;
	const char *why = look->has_program ? refuse_library(path) : refuse_program(f, path);

	if (why && look->has_program)
		snprintf(look->reason, HEAP_REASON_BYTES, "it %s", why);
	else if (why)
		snprintf(look->reason, HEAP_REASON_BYTES, "%.64s %s", name_of(path), why);
	look->has_program = true;
	return why != NULL;
}

static bool has_events(const struct plan *plan)
{
	return ARRAY_ANY(p, plan->events, plan->nr_events, event_heap(&p->event) >= 0);
}

bool heap_is_measurable(const struct plan *plan, char reason[HEAP_REASON_BYTES])
{
	const struct spec_list *command = &plan->spec->target.command;
	const struct event_objects objects = {.command = command->nr ? command->item[0] : NULL};
	struct look look = {.reason = reason};
	char library[PATH_MAX];

	if (!has_events(plan) || !objects.command)
		return true;
	if (!guests_find(CPUPERF_AGENT_FROM_BIN, library)) {
		snprintf(reason, HEAP_REASON_BYTES, "libcpuperf-agent.so is not installed");
		return false;
	}
	return usdt_files_each(plan->host, &objects, look_at, &look) != 1;
}

/* Before what else is preloaded: an allocator there would answer the calls. */
int heap_set_variables(struct target_command *c, const char *socket, struct err *e)
{
	const char *own = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	BUF_AUTO(all, MAX_PRELOAD_BYTES);

	if (!guests_find(CPUPERF_AGENT_FROM_BIN, library))
		return 0;
	buf_printf(&all, "%s%s%s", library, own && *own ? ":" : "", own ? own : "");
	if (buf_error(&all))
		return err_set(e, buf_error(&all), "LD_PRELOAD is too long");
	return target_command_set_variable(c, "CPUPERF_HEAP", socket, e)
		   ?: target_command_set_variable(c, "LD_PRELOAD", buf_str(&all), e);
}
