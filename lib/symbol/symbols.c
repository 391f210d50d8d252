/*
 * Selects the source for an address, and loads it on first use.
 */
#include "symbol/symbols.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "base/sys.h"
#include "elf/demangle.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "profile/codes.h"
#include "profile/compiled.h"
#include "profile/processes.h"
#include "symbol/codes.h"
#include "symbol/jitdump.h"
#include "symbol/room.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct symbols {
	struct symbols_config config;
	struct symbol_functions functions;
	pthread_mutex_t lock; /* of loading */
	size_t nr_objects;
	_Atomic(struct symbol_object *) *object; /* owned, with its elements; NULL: not loaded */
	_Atomic(bool) has_kernel;
	struct symbol_kernel kernel;
	struct symbol_jit jit;
	struct symbol_dumps dumps;
	struct symbol_lines *lines; /* owned */
	const struct symbol_function *no_mapping, *life[PERF_ABI_NR_LIVES];
};

enum { KALLSYMS_STEP_BYTES = 1 << 20 };

/* Adds functions that stand for life spans of blocks, whose stacks have them as their innermost. */
static bool add_lives(struct symbols *s)
{
	bool is_added = true;

	for (size_t i = 0; i < PERF_ABI_NR_LIVES; i++) {
		const struct symbol_function life = {.name = perf_abi_lives[i],
						     .linkage_name = perf_abi_lives[i],
						     .object = "[lifetime]",
						     .object_path = "[lifetime]",
						     .is_known = true};

		s->life[i] = symbol_functions_add(&s->functions, &life, NULL);
		is_added = is_added && s->life[i]->number;
	}
	return is_added;
}

int symbols_new(const struct symbols_config *config, struct symbols **out)
{
	static const struct symbol_function no_mapping = {
	    .name = "[unknown]", .object = "[unknown]", .object_path = "[unknown]"};
	struct symbols *s = mem_zalloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (symbol_functions_init(&s->functions)) {
		mem_free(s);
		return -ENOMEM;
	}
	s->config = *config;
	pthread_mutex_init(&s->lock, NULL);
	symbol_kernel_init(&s->kernel);
	symbol_jit_init(&s->jit);
	symbol_dumps_init(&s->dumps, &s->config, &s->functions);
	s->nr_objects = config->processes ? profile_nr_objects(config->processes) : 0;
	s->object = mem_calloc(s->nr_objects, sizeof(*s->object));
	s->lines = symbol_lines_new(&s->config, &s->functions);
	s->no_mapping = symbol_functions_add(&s->functions, &no_mapping, NULL);
	if (!s->object || !s->lines || !s->no_mapping->number || !add_lives(s) ||
	    symbol_dumps_renew(&s->dumps)) {
		symbols_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	symbol_lines_free(s->lines);
	for (size_t i = 0; s->object && i < s->nr_objects; i++)
		symbol_object_free(s->object[i]);
	mem_free((void *)s->object);
	symbol_kernel_fini(&s->kernel);
	symbol_jit_fini(&s->jit);
	symbol_dumps_fini(&s->dumps);
	symbol_functions_fini(&s->functions);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

int symbols_renew(struct symbols *s)
{
	const size_t nr = profile_nr_objects(s->config.processes);
	_Atomic(struct symbol_object *) *object;

	if (nr > s->nr_objects) {
		object = mem_calloc(nr, sizeof(*object));
		if (!object)
			return -ENOMEM;
		for (size_t i = 0; i < s->nr_objects; i++)
			atomic_init(&object[i], atomic_load(&s->object[i]));
		mem_free((void *)s->object);
		s->object = object;
		s->nr_objects = nr;
	}
	symbol_jit_fini(&s->jit);
	symbol_jit_init(&s->jit);
	return symbol_dumps_renew(&s->dumps)
		   ?: s->has_kernel ? symbol_kernel_renew(&s->kernel, s->config.processes)
				    : 0;
}

int symbols_add_kallsyms(struct symbols *s, const char *text, size_t len)
{
	buf_add(&s->kernel.kallsyms, text, len);
	return buf_error(&s->kernel.kallsyms) == -ENOMEM ? -ENOMEM : 0;
}

int symbols_take_kallsyms(struct symbols *s, struct buf *text)
{
	const int rc = buf_error(text);

	buf_fini(&s->kernel.kallsyms);
	s->kernel.kallsyms = *text;
	*text = (struct buf){.max_bytes = text->max_bytes};
	return rc == -ENOMEM ? rc : 0;
}

static int read_kallsyms(struct symbols *s, int fd)
{
	struct buf *b = &s->kernel.kallsyms;
	ssize_t n = 1;

	while (n > 0) {
		size_t room = b->max_bytes - b->len;
		char *p;

		if (room > KALLSYMS_STEP_BYTES)
			room = KALLSYMS_STEP_BYTES;
		p = buf_reserve(b, room);
		n = p ? io_read_full(fd, p, room) : buf_error(b);
		if (n > 0)
			b->len += (size_t)n;
	}
	return (int)n;
}

int symbols_load_kallsyms(struct symbols *s, const char *path, struct err *e)
{
	IO_AUTO_FD int fd = io_open_input(path, e);
	int rc = fd < 0 ? 0 : read_kallsyms(s, fd);

	if (fd < 0)
		return fd;
	if (rc)
		return err_set_at(e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	s->kernel.path = path;
	if (symbol_text_is_kallsyms(buf_str(&s->kernel.kallsyms), s->kernel.kallsyms.len))
		return 0;
	err_set_at(e, -EINVAL, path, 1, 0, "is not a copy of /proc/kallsyms: it has no valid line");
	err_hint(e, "lines look like \"ffffffff81000000 T _text\"");
	return -EINVAL;
}

static bool load_kernel(struct symbols *s)
{
	bool is_loaded;

	if (atomic_load_explicit(&s->has_kernel, memory_order_acquire))
		return true;
	pthread_mutex_lock(&s->lock);
	is_loaded = atomic_load_explicit(&s->has_kernel, memory_order_relaxed) ||
		    symbol_kernel_load(&s->kernel, &s->config) == 0;
	atomic_store_explicit(&s->has_kernel, is_loaded, memory_order_release);
	pthread_mutex_unlock(&s->lock);
	return is_loaded;
}

const struct symbol_function *symbols_kernel(struct symbols *s, uint64_t address, uint64_t time_ns)
{
	if (!load_kernel(s))
		return symbol_functions_get(&s->functions, 0);
	return symbol_kernel_function(&s->kernel, &s->functions, address, time_ns);
}

bool symbols_kernel_extent(struct symbols *s, uint64_t address, uint64_t *start, uint64_t *end)
{
	size_t i;
	const struct symbol_text *t =
	    load_kernel(s) ? symbol_kernel_find(&s->kernel, address, &i) : NULL;

	if (!t)
		return false;
	*start = t->table.entry[i].start;
	*end = *start + t->table.entry[i].size;
	return true;
}

static struct symbol_object *load_object(struct symbols *s, const struct profile_object *object)
{
	_Atomic(struct symbol_object *) *at = &s->object[object->number];
	struct symbol_object *o = atomic_load_explicit(at, memory_order_acquire);

	if (o)
		return o;
	pthread_mutex_lock(&s->lock);
	o = atomic_load_explicit(at, memory_order_relaxed);
	if (!o) {
		o = symbol_object_new(&s->config, object);
		atomic_store_explicit(at, o, memory_order_release);
	}
	pthread_mutex_unlock(&s->lock);
	return o;
}

/* What a session calls the type of an exception (session/sampler.c). */
static bool type_name(const char *path, char *linkage, size_t bytes, char *name)
{
	static const char begin[] = "[exception ", plain[] = "typeinfo for ";
	size_t len = strlen(path);

	if (strncmp(path, begin, strlen(begin)) || path[len - 1] != ']')
		return false;
	snprintf(linkage, bytes, "%.*s", (int)(len - strlen(begin) - 1), path + strlen(begin));
	if (elf_demangle(linkage, name) && strncmp(name, plain, strlen(plain)) == 0)
		memmove(name, name + strlen(plain), strlen(name + strlen(plain)) + 1);
	return true;
}

/* One function for everything in an object without a file. */
static const struct symbol_function *find_whole(struct symbols *s,
						const struct profile_object *object)
{
	const struct symbol_function_key key = {.space = symbol_space(SPACE_OBJECT, object->number),
						.linkage = "[unknown]"};
	char linkage[600], name[ELF_MAX_NAME_BYTES];
	struct symbol_function draft = {
	    .name = "[unknown]",
	    .object = object->name,
	    .object_path = object->shown_path,
	};

	if (type_name(object->path, linkage, sizeof(linkage), name)) {
		draft.name = name;
		draft.linkage_name = linkage;
		draft.object = draft.object_path = "[exception]";
		draft.is_known = true;
	}
	return symbol_functions_add_key(&s->functions, &draft, &key);
}

/* Code made at run time may be in a deleted file. */
static bool is_memory(struct symbols *s, const struct profile_object *object)
{
	const struct symbol_object *o;

	if (object->kind != PROFILE_OBJECT_DELETED)
		return object->kind == PROFILE_OBJECT_ANON;
	o = load_object(s, object);
	return !o || !o->code;
}

/* The recorder reads the process no longer, or as another program. */
static bool is_end(const struct profile_compiled *c)
{
	return !c->start && c->end == UINT64_MAX;
}

static const struct symbol_function *compiled_function(struct symbols *s, const char *name)
{
	const struct symbol_function draft = {
	    .name = name, .object = "[JIT]", .object_path = "[JIT]", .is_known = true};
	const struct symbol_function_key key = {.space = symbol_space(SPACE_COMPILED, 0),
						.linkage = name};

	return symbol_functions_add_key(&s->functions, &draft, &key);
}

/* What the recorder read of a runtime. False: nothing was there that it knows of. *out NULL: what
 * was there then has no name. */
static bool find_compiled(struct symbols *s, uint32_t pid, uint64_t address, uint64_t time_ns,
			  const struct symbol_function **out)
{
	const struct profile_compiled *c =
	    profile_compiled_find(s->config.processes, pid, address, time_ns);

	if (!c || is_end(c) || c->kind == TRACE_COMPILED_SCRIPT)
		return false;
	*out = *c->name ? compiled_function(s, c->name) : NULL;
	return true;
}

/* Function number i of a script, whose first lines are beside it. */
static const struct symbol_function *
script_function(struct symbols *s, const struct profile_compiled *c, const struct trace_scope *is)
{
	uint32_t first_line = 0;

	if (is->function < c->nr_points)
		memcpy(&first_line, c->points + (size_t)is->function * sizeof(first_line),
		       sizeof(first_line));
	return symbol_codes_script(&s->functions, is->name, is->file, le32toh(first_line));
}

/* The function that V8 has optimised, where it is known what it has inlined there; else NULL. */
static const struct symbol_function *find_script(struct symbols *s, uint32_t pid, uint64_t address,
						 uint64_t time_ns)
{
	const struct profile_compiled *c =
	    profile_compiled_find(s->config.processes, pid, address, time_ns);
	struct trace_scope first;

	return c && c->kind == TRACE_COMPILED_SCRIPT &&
		       trace_scopes_first(c->scopes, c->scopes_bytes, &first)
		   ? script_function(s, c, &first)
		   : NULL;
}

/* A dump knows when code was at an address, and so does the recorder; a map does not. *at: without
 * a dump, of another. */
static const struct symbol_function *find_made(struct symbols *s,
					       const struct profile_mapping *mapping,
					       uint64_t address, uint64_t time_ns,
					       struct symbol_dumped *at)
{
	const struct symbol_function *fn = NULL;

	*at = (struct symbol_dumped){.dump = NULL};
	if (symbol_dumps_find(&s->dumps, mapping, address, time_ns, at))
		return symbol_dumped_function(&s->dumps, at);
	if (find_compiled(s, mapping->pid, address, time_ns, &fn))
		return fn;
	fn = symbol_jit_function(&s->jit, &s->config, &s->functions, mapping->pid, address);
	return fn ?: find_script(s, mapping->pid, address, time_ns);
}

bool symbols_made(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		  uint64_t time_ns, struct symbol_made *out)
{
	struct symbol_dumped at;

	if (mapping->object->number >= s->nr_objects || !is_memory(s, mapping->object))
		return false;
	*out = (struct symbol_made){.address = address};
	out->function = find_made(s, mapping, address, time_ns, &at);
	if (out->function && !at.dump)
		out->compiled =
		    profile_compiled_find(s->config.processes, mapping->pid, address, time_ns);
	if (at.dump) {
		out->address = at.address;
		out->table = symbol_dumped_table(&s->dumps, &at);
		out->table_len = at.code->table_len;
		out->table_address = jitdump_table_address(at.code);
	}
	return out->function;
}

bool symbols_method(struct symbols *s, uint32_t pid, uint64_t method, uint64_t bcp,
		    uint64_t time_ns, uint64_t *address)
{
	const struct profile_compiled *c =
	    profile_compiled_find(s->config.processes, pid, method, time_ns);

	if (!c || c->kind != TRACE_COMPILED_INTERPRETED || c->start != method ||
	    (c->codes_bytes && bcp - c->codes >= c->codes_bytes))
		return false;
	*address = profile_code_address(s->config.processes, TRACE_LANGUAGE_JAVA, c->code,
					c->codes_bytes ? (int32_t)(bcp - c->codes) : -1);
	return true;
}

const struct symbol_function *symbols_user(struct symbols *s, const struct profile_mapping *mapping,
					   uint64_t address, uint64_t time_ns)
{
	const struct profile_object *object = mapping ? mapping->object : NULL;
	const struct symbol_function *fn;
	struct symbol_dumped at;
	struct symbol_object *o;

	if (!object && profile_is_code(address))
		return symbol_codes_function(&s->functions, s->config.processes, address);
	if (!object || object->number >= s->nr_objects)
		return perf_abi_is_life(address) ? s->life[address - PERF_ABI_LIVES]
						 : s->no_mapping;
	if (is_memory(s, object)) {
		fn = find_made(s, mapping, address, time_ns, &at);
		return fn ? fn : find_whole(s, object);
	}
	/* A program of 32 bits has another vdso. */
	if (object->kind == PROFILE_OBJECT_VDSO &&
	    (!s->config.vdso || mapping->end <= UINT64_C(1) << 32))
		return find_whole(s, object);
	o = load_object(s, object);
	if (!o)
		return symbol_functions_get(&s->functions, 0);
	return symbol_object_function(o, &s->functions, mapping, address);
}

uint32_t symbols_epoch(struct symbols *s, const struct profile_process *process, uint64_t time_ns)
{
	return symbol_dumps_epoch(&s->dumps, process, time_ns) +
	       (process ? profile_compiled_epoch(s->config.processes, process->pid, time_ns) : 0);
}

/* Finds code that was made at run time, and is in a dump. */
static bool find_dumped(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
			uint64_t time_ns, struct symbol_dumped *out)
{
	return mapping && mapping->object->number < s->nr_objects &&
	       is_memory(s, mapping->object) &&
	       symbol_dumps_find(&s->dumps, mapping, address, time_ns, out);
}

const struct profile_object *symbols_place(struct symbols *s, const struct profile_mapping *mapping,
					   uint64_t address, uint64_t time_ns, uint64_t *offset)
{
	const struct profile_object *object = mapping ? mapping->object : NULL;
	struct symbol_dumped at;

	*offset = address;
	if (find_dumped(s, mapping, address, time_ns, &at)) {
		*offset = symbol_dumped_offset(&at);
		return profile_object(s->config.processes, symbol_dumped_object(&at));
	}
	if (!object || object->kind == PROFILE_OBJECT_ANON ||
	    object->kind == PROFILE_OBJECT_DELETED)
		return NULL;
	*offset = address - mapping->start + mapping->offset;
	return object;
}

/* NULL: not asked for. */
static const struct symbol_object *loaded(const struct symbols *s, uint32_t object)
{
	return object < s->nr_objects
		   ? atomic_load_explicit(&s->object[object], memory_order_acquire)
		   : NULL;
}

enum symbol_names symbols_names_of(const struct symbols *s, uint32_t object)
{
	static const enum symbol_names of_part[] = {
	    [SYMBOL_ELF_NO_NAMES] = SYMBOL_NAMES_NONE,
	    [SYMBOL_ELF_EXPORTED] = SYMBOL_NAMES_EXPORTED,
	    [SYMBOL_ELF_ALL] = SYMBOL_NAMES_ALL,
	};
	const struct symbol_object *o = loaded(s, object);

	return o ? of_part[o->symbols.part] : SYMBOL_NAMES_NOT_ASKED;
}

bool symbols_is_missing(const struct symbols *s, uint32_t object)
{
	const struct symbol_object *o = loaded(s, object);

	return o && !o->code && !o->debug;
}

/* NULL: it is none of a runtime, or a dump says what it is. */
static const struct profile_compiled *find_scoped(struct symbols *s,
						  const struct profile_mapping *mapping,
						  uint64_t address, uint64_t time_ns)
{
	const struct profile_compiled *c =
	    mapping ? profile_compiled_find(s->config.processes, mapping->pid, address, time_ns)
		    : NULL;
	struct symbol_dumped at;

	return c && c->scopes_bytes && mapping->object->number < s->nr_objects &&
		       is_memory(s, mapping->object) &&
		       !symbol_dumps_find(&s->dumps, mapping, address, time_ns, &at) &&
		       (c->kind != TRACE_COMPILED_SCRIPT ||
			!symbol_jit_function(&s->jit, &s->config, &s->functions, mapping->pid,
					     address))
		   ? c
		   : NULL;
}

bool symbols_is_script(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		       uint64_t time_ns)
{
	const struct profile_compiled *c = find_scoped(s, mapping, address, time_ns);

	return c && c->kind == TRACE_COMPILED_SCRIPT;
}

bool symbols_has_scopes(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
			uint64_t time_ns)
{
	return find_scoped(s, mapping, address, time_ns);
}

/* The last one is fn. More than max: they are not known. */
static size_t scoped_lines(struct symbols *s, const struct profile_compiled *c, uint64_t address,
			   const struct symbol_function *fn, struct symbol_line *out, size_t max)
{
	struct trace_scope scope[TRACE_SCOPES_MAX_DEPTH];
	size_t nr = profile_compiled_scopes(c, address, scope);

	if (!nr || nr > max) {
		out[0] = (struct symbol_line){.function = fn};
		return 1;
	}
	for (size_t i = 0; i < nr; i++)
		out[i] = (struct symbol_line){
		    .function = i + 1 == nr ? fn
				: c->kind == TRACE_COMPILED_SCRIPT
				    ? script_function(s, c, &scope[i])
				    : compiled_function(s, scope[i].name),
		    .file = *scope[i].file ? symbol_functions_text(&s->functions, scope[i].file,
								   strlen(scope[i].file))
					   : NULL,
		    .line = scope[i].line,
		    .is_of_runtime = true};
	return nr;
}

size_t symbols_lines(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		     uint64_t time_ns, struct symbol_line *out, size_t max)
{
	const struct symbol_function *fn = symbols_user(s, mapping, address, time_ns);
	const struct profile_object *object = mapping ? mapping->object : NULL;
	const struct profile_compiled *compiled;
	struct symbol_dumped dumped;
	struct symbol_object *o;
	uint64_t at;

	if (!max)
		return 0;
	out[0] = (struct symbol_line){.function = fn};
	if (!object && profile_is_code(address)) {
		symbol_codes_line(&s->functions, s->config.processes, address, &out[0]);
		return 1;
	}
	if (find_dumped(s, mapping, address, time_ns, &dumped)) {
		symbol_dumped_line(&s->dumps, &dumped, &out[0]);
		return 1;
	}
	compiled = find_scoped(s, mapping, address, time_ns);
	if (compiled)
		return scoped_lines(s, compiled, address, fn, out, max);
	if (!object || object->number >= s->nr_objects || !profile_object_is_file(object))
		return 1;
	o = load_object(s, object);
	if (!o || !symbol_object_lines_file(o) || !symbol_object_address(o, mapping, address, &at))
		return 1;
	return symbol_lines_find(s->lines, object, o, at, s->config.with_inlined, fn, out, max);
}

bool symbols_interpreted_line(struct symbols *s, uint64_t address, struct symbol_line *out)
{
	if (!profile_is_code(address))
		return false;
	symbol_codes_line(&s->functions, s->config.processes, address, out);
	return true;
}

struct elf_rights symbols_interpreted_rights(struct symbols *s, uint64_t address)
{
	const struct profile_code *code = profile_code_at(s->config.processes, address);
	const struct elf_rights rights =
	    elf_rights_of_user(code && code->owner ? code->owner - 1 : IO_NOBODY);

	return s->config.finder ? elf_finder_rights(s->config.finder, rights) : rights;
}

/* NULL: it has no file. */
static struct symbol_object *find_object(struct symbols *s, const struct profile_object *object)
{
	const bool has_file = object && object->number < s->nr_objects &&
			      (profile_object_is_file(object) ||
			       (object->kind == PROFILE_OBJECT_VDSO && s->config.vdso));

	return has_file ? load_object(s, object) : NULL;
}

bool symbols_code(struct symbols *s, const struct profile_object *object, uint64_t offset,
		  struct symbol_code *out)
{
	const struct symbol_object *o;
	struct symbol_dumped at;
	struct symbol_code c = {.object = object};

	if (object && symbol_dumps_at(&s->dumps, object->number, offset, &at)) {
		c.jit = at.code;
		c.machine = symbol_dumped_machine(&at);
		c.address = at.address;
		symbol_dumped_extent(&at, &c.start, &c.end);
		*out = c;
		return true;
	}
	o = find_object(s, object);
	c.file = o ? o->code : NULL;
	if (!c.file || !elf_file_address(c.file, offset, &c.address) ||
	    !symbol_object_extent(o, c.address, &c.start, &c.end))
		return false;
	c.machine = elf_file_machine(c.file);
	*out = c;
	return true;
}

static bool find_beside(struct symbols *s, const struct symbol_code *code, uint64_t address,
			struct symbol_dumped *at)
{
	return symbol_dumps_beside(&s->dumps, code->object->number, code->jit, address, at);
}

size_t symbols_code_read(struct symbols *s, const struct symbol_code *code, void *to, size_t max)
{
	struct symbol_dumped at;

	return find_beside(s, code, code->start, &at) ? symbol_dumped_read(&s->dumps, &at, to, max)
						      : 0;
}

const struct symbol_function *symbols_code_function(struct symbols *s,
						    const struct symbol_code *code,
						    uint64_t address, uint64_t *start)
{
	struct symbol_object *o = code->jit ? NULL : find_object(s, code->object);
	struct symbol_dumped at;
	uint64_t end;

	if (o)
		return symbol_object_named(o, &s->functions, code->object, address, start);
	if (!code->jit || !find_beside(s, code, address, &at))
		return NULL;
	symbol_dumped_extent(&at, start, &end);
	*start += address - at.address; /* it may have been moved */
	return symbol_dumped_function(&s->dumps, &at);
}

size_t symbols_code_lines(struct symbols *s, const struct symbol_code *code, uint64_t address,
			  struct symbol_line *out, size_t max)
{
	const struct profile_object *object = code->object;
	struct symbol_object *o = code->jit ? NULL : find_object(s, object);
	const struct symbol_function *fn;
	struct symbol_dumped at;
	uint64_t start;

	if (code->jit && max && find_beside(s, code, address, &at)) {
		out[0] = (struct symbol_line){.function = symbol_dumped_function(&s->dumps, &at)};
		return symbol_dumped_line(&s->dumps, &at, &out[0]);
	}
	if (!o || !symbol_object_lines_file(o) || !max)
		return 0;
	fn = symbol_object_named(o, &s->functions, object, address, &start);
	return symbol_lines_find(s->lines, object, o, address, true, fn, out, max);
}

struct elf_rights symbols_rights(struct symbols *s, const struct profile_object *object)
{
	struct symbol_object *o = find_object(s, object);
	struct elf_rights rights = {.are_limited = false};

	if (!s->config.finder)
		return rights;
	if (o && symbol_object_lines_file(o))
		rights = symbol_lines_rights(s->lines, object, o);
	else if (object)
		symbol_dumps_rights(&s->dumps, object->number, &rights);
	return elf_finder_rights(s->config.finder, rights);
}

const char *symbols_code_slot(struct symbols *s, const struct profile_object *object,
			      uint64_t address)
{
	const struct symbol_object *o = find_object(s, object);
	char linkage[SYMBOL_ELF_MAX_NAME_BYTES], name[ELF_MAX_NAME_BYTES];

	if (!o || !symbol_elf_slot_name(&o->symbols, address, linkage))
		return NULL;
	elf_demangle(linkage, name);
	return symbol_functions_text(&s->functions, name, strlen(name));
}

/* NULL: no memory. */
static const struct symbol_elf *variables_of(struct symbols *s, struct symbol_object *o)
{
	const struct symbol_elf *v = atomic_load_explicit(&o->variables, memory_order_acquire);

	if (v)
		return v;
	pthread_mutex_lock(&s->lock);
	v = atomic_load_explicit(&o->variables, memory_order_relaxed);
	if (!v)
		v = symbol_object_load_variables(o);
	pthread_mutex_unlock(&s->lock);
	return v;
}

bool symbols_variable(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		      char out[SYMBOL_VARIABLE_BYTES])
{
	struct symbol_object *o = find_object(s, mapping->object);
	char linkage[SYMBOL_ELF_MAX_NAME_BYTES], name[ELF_MAX_NAME_BYTES], offset[24] = "";
	const struct symbol_elf *variables;
	uint64_t at, start;

	if (!o || !o->code ||
	    !elf_file_mapping_address(o->code, mapping->offset, profile_mapping_is_code(mapping),
				      &at))
		return false;
	at += address - mapping->start;
	variables = variables_of(s, o);
	if (!variables || !symbol_elf_data(variables, o->code, at, linkage, &start))
		return false;
	elf_demangle(*linkage ? linkage : "[data]", name);
	if (at != start || !*linkage)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, at - start);
	snprintf(out, SYMBOL_VARIABLE_BYTES, "%.*s%s",
		 (int)(SYMBOL_VARIABLE_BYTES - sizeof(offset)), name, offset);
	str_disarm(out);
	return true;
}
