/*
 * /tmp/perf-PID.map. Anybody can create such a file: it is only used if it belongs to root, to the
 * effective user, or to the owner of the process while that runs.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "elf/finder.h"
#include "elf/reader.h"
#include "proc/proc.h"
#include "symbol/room.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct jit_process {
	struct jit_process *next;
	uint32_t pid;
	struct buf text;
	struct symbol_text symbols;
};

enum { NR_BUCKETS = SYMBOL_JIT_BUCKETS };

void symbol_jit_init(struct symbol_jit *j)
{
	*j = (struct symbol_jit){.bucket = {NULL}};
	pthread_mutex_init(&j->lock, NULL);
}

void symbol_jit_fini(struct symbol_jit *j)
{
	for (size_t i = 0; i < NR_BUCKETS; i++)
		for (struct jit_process *p = j->bucket[i], *next; p; p = next) {
			next = p->next;
			symbol_text_fini(&p->symbols);
			buf_fini(&p->text);
			mem_free(p);
		}
	pthread_mutex_destroy(&j->lock);
}

/* The owner of a process that runs; false: it has ended. */
static bool find_owner(uint32_t pid, uid_t *out)
{
	struct stat st;

	if (proc_find(PROC(&root_live, pid), "", &st))
		return false;
	*out = st.st_uid;
	return true;
}

static bool is_owner_of(uid_t uid, uint32_t pid)
{
	uid_t owner;

	return find_owner(pid, &owner) && owner == uid;
}

struct elf_rights symbol_jit_rights(const struct symbols_config *config, uint32_t pid)
{
	struct elf_rights rights = {.are_limited = false};
	uid_t owner;

	if (config->is_same_boot && find_owner(pid, &owner))
		rights = elf_rights_of_user(owner);
	return rights;
}

/* Without a configured folder, maps on this machine belong to its own processes. */
bool symbol_jit_is_foreign(const struct symbols_config *config)
{
	return !config->is_same_boot && !config->jit_folder && !*elf_finder_sysroot(config->finder);
}

int symbol_jit_check(const struct stat *st, const struct symbols_config *config, uint32_t pid,
		     const char *path, struct err *e)
{
	const uint64_t second_ns = 1000000000;
	struct clock_triple now;

	if (symbol_jit_is_foreign(config)) {
		err_set_at(e, -ESTALE, path, 0, 0,
			   "not used: the session was recorded on another machine or boot");
		err_hint(e, "copy that machine's maps and jitdumps to the same paths below DIR, "
			    "and use --sysroot=DIR");
		return -ESTALE;
	}
	clock_triple_now(&now);
	/* A second of tolerance, in case the clock was set. */
	if (config->is_same_boot && st->st_mtim.tv_sec >= 0 &&
	    ((uint64_t)st->st_mtim.tv_sec + 1) * second_ns + now.boottime_ns < now.realtime_ns)
		return err_set_at(e, -ESTALE, path, 0, 0,
				  "not used: it is older than this machine's last boot, so it "
				  "belongs to another process");
	if (st->st_uid == 0 || st->st_uid == geteuid())
		return st->st_nlink == 1 ? 0
					 : err_set_at(e, -EACCES, path, 0, 0,
						      "not used: it has another name too, under "
						      "which it may be another file's");
	if (config->is_same_boot && is_owner_of(st->st_uid, pid))
		return 0;
	err_set_at(e, -EACCES, path, 0, 0,
		   "not used: it belongs to user %" PRIu32 ", not the owner of the process",
		   (uint32_t)st->st_uid);
	err_hint(e, "if you trust it, make root its owner, and let everybody read it");
	return -EACCES;
}

static int read_map(struct elf_reader *reader, struct elf_reader_file *f, struct jit_process *p,
		    struct err *e)
{
	size_t len = (size_t)f->st.st_size;
	const char *at, *end;
	uint64_t nr = 1; /* lines, each a symbol at most */
	char *text;
	int rc;

	if (!len)
		return 0;
	if (len > SYMBOL_TEXT_MAX_BYTES)
		return err_set_at(e, -EFBIG, f->path, 0, 0, "is too large");
	text = buf_reserve(&p->text, len);
	if (!text)
		return buf_error(&p->text);
	rc = elf_reader_read(reader, f, 0, len, text);
	if (rc)
		return rc;
	buf_use(&p->text, len);
	at = text;
	end = text + len;
	while (nr < SYMBOL_MAX_ENTRIES && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		nr++;
	}
	if (!elf_reader_pay(reader, f, nr * SYMBOL_ENTRY_COST))
		return -ENOMEM;
	return symbol_text_parse_map(text, len, &p->symbols);
}

static void load(struct symbol_jit *j, struct jit_process *p, const struct symbols_config *config,
		 const char *path)
{
	struct elf_reader *reader = elf_finder_reader(config->finder);
	struct elf_reader_file f =
	    elf_finder_named(config->finder, path, symbol_jit_rights(config, p->pid));
	struct err e = {0};
	int rc;

	f.refuses_links = f.may_grow = true;
	rc = elf_reader_look(reader, &f);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return;
	rc = rc ?: symbol_jit_check(&f.st, config, p->pid, path, &e) ?: read_map(reader, &f, p, &e);
	if (rc == 0)
		return;
	elf_reader_explain(rc, path, &e);
	if (config->problem && !(symbol_jit_is_foreign(config) && j->has_reported_foreign))
		config->problem(config->arg, &e);
	j->has_reported_foreign |= symbol_jit_is_foreign(config);
}

/* NULL: no memory; the process is then one without a map. */
static struct jit_process *add(struct symbol_jit *j, const struct symbols_config *config,
			       uint32_t pid)
{
	struct jit_process *p = mem_zalloc(sizeof(*p));
	char path[PATH_MAX];
	int len;

	if (!p)
		return NULL;
	p->pid = pid;
	buf_init(&p->text, SYMBOL_TEXT_MAX_BYTES + 1);
	if (config->jit_folder)
		len = snprintf(path, sizeof(path), "%s/perf-%" PRIu32 ".map", config->jit_folder,
			       pid);
	else
		len = snprintf(path, sizeof(path), "%s/tmp/perf-%" PRIu32 ".map",
			       elf_finder_sysroot(config->finder), pid);
	if (len >= 0 && (size_t)len < sizeof(path))
		load(j, p, config, path);
	p->next = j->bucket[pid % NR_BUCKETS];
	atomic_store_explicit(&j->bucket[pid % NR_BUCKETS], p, memory_order_release);
	return p;
}

static struct jit_process *find(struct symbol_jit *j, uint32_t pid)
{
	struct jit_process *p =
	    atomic_load_explicit(&j->bucket[pid % NR_BUCKETS], memory_order_acquire);

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static struct jit_process *get(struct symbol_jit *j, const struct symbols_config *config,
			       uint32_t pid)
{
	struct jit_process *p = find(j, pid);

	if (p)
		return p;
	pthread_mutex_lock(&j->lock);
	p = find(j, pid);
	if (!p)
		p = add(j, config, pid);
	pthread_mutex_unlock(&j->lock);
	return p;
}

static const struct symbol_function *add_named(struct jit_process *p, struct symbol_functions *f,
					       size_t i)
{
	char name[SYMBOL_TEXT_MAX_NAME_BYTES];
	const struct symbol_function draft = {
	    .name = name,
	    .object = "[JIT]",
	    .object_path = "[JIT]",
	    .is_known = true,
	};

	symbol_text_name(&p->symbols, &p->symbols.table.entry[i], name);
	return symbol_functions_add(f, &draft, &p->symbols.table.function[i]);
}

const struct symbol_function *symbol_jit_function(struct symbol_jit *j,
						  const struct symbols_config *config,
						  struct symbol_functions *f, uint32_t pid,
						  uint64_t address)
{
	struct jit_process *p = config->finder ? get(j, config, pid) : NULL;
	ptrdiff_t i = p ? symbol_table_find(&p->symbols.table, address) : -1;
	const struct symbol_function *fn;

	if (i < 0)
		return NULL;
	fn = atomic_load_explicit(&p->symbols.table.function[i], memory_order_acquire);
	return fn ? fn : add_named(p, f, (size_t)i);
}
