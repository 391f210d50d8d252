/*
 * What tests of symbols share: programs made by the compiler at test time, files found in a folder
 * of the test, and what was told as a problem. Stands in for profile/processes.c: the objects and
 * kernel symbols are what the test says. Only for tests.
 */
#ifndef TEST_SYMBOLS_H
#define TEST_SYMBOLS_H

#include "kit.h"

#include "base/buf.h"
#include "base/io.h"

#include "elf/finder.h"
#include "profile/compiled.h"
#include "profile/processes.h"
#include "symbol/symbols.h"

struct profile_processes {
	size_t nr_objects, nr_ksymbols;
	const struct profile_ksymbol *ksymbol;
	const struct profile_object *object; /* NULL: none is a jitdump */
	const struct profile_mapping *mapping;
	size_t nr_mappings;
	const struct profile_process *process; /* of all mappings */
	/* Its session has these parts of this text; how many were read. */
	const struct profile_symbol_part *part;
	size_t nr_parts;
	const char *text;
	unsigned nr_read;
	const struct profile_compiled *compiled; /* in order of time */
	size_t nr_compiled;
};

size_t profile_nr_objects(const struct profile_processes *p)
{
	return p->nr_objects;
}

const struct profile_object *profile_object(const struct profile_processes *p, uint32_t number)
{
	static const struct profile_object none = {.kind = PROFILE_OBJECT_FILE, .path = ""};

	return p->object ? &p->object[number] : &none;
}

size_t profile_nr_mappings(const struct profile_processes *p)
{
	return p->nr_mappings;
}

const struct profile_mapping *profile_mapping(const struct profile_processes *p, size_t i)
{
	return &p->mapping[i];
}

const struct profile_process *profile_process_of(const struct profile_processes *p,
						 const struct profile_mapping *m)
{
	return m->pid == p->process->pid ? p->process : NULL;
}

const struct profile_process *profile_forked_from(const struct profile_processes *p,
						  const struct profile_process *process)
{
	(void)p;
	(void)process;
	return NULL;
}

size_t profile_nr_ksymbols(const struct profile_processes *p)
{
	return p->nr_ksymbols;
}

const struct profile_ksymbol *profile_ksymbol(const struct profile_processes *p, size_t i)
{
	return &p->ksymbol[i];
}

size_t profile_nr_symbol_parts(const struct profile_processes *p)
{
	return p->nr_parts;
}

const struct profile_symbol_part *profile_symbol_part(const struct profile_processes *p, size_t i)
{
	return &p->part[i];
}

/* The session is the processes. To the next part. */
int profile_symbol_text(const struct profile_session *s, const struct profile_symbol_part *part,
			profile_kallsyms_fn *kallsyms, void *arg)
{
	struct profile_processes *p = (struct profile_processes *)s;
	const uint64_t end = part + 1 < p->part + p->nr_parts ? part[1].offset : strlen(p->text);

	p->nr_read++;
	return kallsyms(arg, p->text + part->offset, (size_t)(end - part->offset));
}

const struct profile_compiled *profile_compiled_find(const struct profile_processes *p,
						     uint32_t pid, uint64_t address,
						     uint64_t time_ns)
{
	const struct profile_compiled *found = NULL;

	for (size_t i = 0; i < p->nr_compiled; i++) {
		const struct profile_compiled *c = &p->compiled[i];

		if (c->pid == pid && c->time_ns <= time_ns && c->start <= address &&
		    address < c->end)
			found = c;
	}
	return found;
}

uint32_t profile_compiled_epoch(const struct profile_processes *p, uint32_t pid, uint64_t time_ns)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < p->nr_compiled; i++)
		nr += p->compiled[i].pid == pid && p->compiled[i].time_ns <= time_ns;
	return nr;
}

struct test_world {
	struct root tree;
	struct elf_finder *finder;
	struct symbols *symbols;
	struct profile_processes processes;
	unsigned nr_problems;
	struct err last;
};

static inline void test_problem(void *arg, const struct err *e)
{
	struct test_world *w = arg;

	w->nr_problems++;
	w->last = *e;
}

/* Runs a shell command in the folder of the test; true: it ended well. */
__attribute__((format(printf, 2, 3))) static inline bool test_shell(const struct test_world *w,
								    const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	int at = snprintf(command, sizeof(command), "cd '%s' && exec 2>log && ", w->tree.dir);

	va_start(ap, fmt);
	vsnprintf(command + at, sizeof(command) - (size_t)at, fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

static inline void test_world_open(struct test_world *w, const struct elf_finder_config *finder,
				   const struct symbols_config *symbols)
{
	struct elf_finder_config f = finder ? *finder : (struct elf_finder_config){0};
	struct symbols_config s = symbols ? *symbols : (struct symbols_config){0};

	w->nr_problems = 0;
	f.problem = s.problem = test_problem;
	f.arg = s.arg = w;
	assert_int_equal(elf_finder_new(&f, &w->finder), 0);
	s.finder = w->finder;
	s.processes = &w->processes;
	assert_int_equal(symbols_new(&s, &w->symbols), 0);
}

static inline void test_world_close(struct test_world *w)
{
	symbols_free(w->symbols);
	elf_finder_free(w->finder);
	w->symbols = NULL;
	w->finder = NULL;
}

/* The object of a file of the test, with the build-id it has now if it has one. */
static inline struct profile_object test_object(const struct test_world *w, const char *name,
						uint32_t number, char path[4096])
{
	struct profile_object o = {.number = number, .kind = PROFILE_OBJECT_FILE, .path = path};
	struct elf_build_id id;
	int fd;

	snprintf(path, 4096, "%s/%s", w->tree.dir, name);
	o.name = strrchr(path, '/') + 1;
	o.shown_path = path;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && elf_build_id_read(fd, &id) == 0) {
		o.build_id_len = id.len;
		memcpy(o.build_id, id.bytes, id.len);
	}
	if (fd >= 0)
		close(fd);
	return o;
}

/* As if all of a file were mapped at its own offsets: an address of the file, by way of the place
 * of its byte. */
static inline const struct profile_mapping *test_mapping(const struct profile_object *o,
							 struct profile_mapping *m)
{
	*m = (struct profile_mapping){.start = 0x7f0000000000, .end = 0x7f0100000000, .object = o};
	return m;
}

/* Where the byte of an address is in the file. */
static inline uint64_t test_offset(const struct elf_file *f, uint64_t address)
{
	size_t len, all;
	const uint8_t *p = elf_file_bytes(f, address, SIZE_MAX, &len);

	assert_non_null(p);
	return (uint64_t)(p - elf_file_data(f, &all));
}

/* The function at an address of the file. */
static inline const struct symbol_function *test_function(struct test_world *w,
							  const struct profile_object *o,
							  const struct elf_file *f,
							  uint64_t address)
{
	struct profile_mapping m;

	test_mapping(o, &m);
	return symbols_user(w->symbols, &m, m.start + test_offset(f, address), 1);
}

/* All of it, as it is now. */
static inline struct elf_file *test_open_elf(const char *path)
{
	struct elf_file *f;
	struct buf b;

	buf_init(&b, SIZE_MAX / 2);
	assert_int_equal(io_load(AT_FDCWD, path, &b), 0);
	assert_int_equal(elf_file_open_mem(b.data, b.len, true, path, &f, NULL), 0);
	return f;
}

/* The world of the test that runs, between test_world_setup and test_world_teardown. */
static struct test_world world;

static inline void test_world_setup(void)
{
	world = (struct test_world){.tree = tree_make()};
	world.processes.nr_objects = 8;
}

static inline void test_world_teardown(void)
{
	test_world_close(&world);
	tree_remove(&world.tree);
}

#define TEST_NEEDS(w, program)                                                                     \
	do {                                                                                       \
		if (!test_shell(w, "command -v %s >/dev/null", program))                           \
			SKIP("there is no %s", program);                                           \
	} while (0)

#endif
