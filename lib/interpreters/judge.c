/*
 * A file is read once: it is remembered by device and inode. Modules that an interpreter loads have
 * the symbol, too, but do not define it.
 */
#include "interpreters/judge.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/root.h"
#include "elf/file.h"
#include "elf/reader.h"
#include "proc/maps.h"
#include "proc/proc.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

enum {
	MAX_MAPS_BYTES = 4 << 20,
	MAX_FILES = 1024,   /* that are remembered */
	MAX_LOOKED_AT = 16, /* of a process */
	MAX_SYMBOLS = 1 << 18,
};

struct interpreters_version {
	unsigned major, minor;
	struct bpf_interpreted_offsets at;
};
#include "interpreters/generated/versions.h"

/* What a file says. version 0: it is no interpreter. */
struct file {
	uint32_t major, minor;
	uint64_t inode;
	uint32_t version;
	uint64_t runtime, code_type, loop_begin, loop_end; /* addresses in it */
	uint64_t bias; /* the address of offset 0 of its first mapping */
};

struct interpreters_judge {
	struct elf_reader *reader; /* owned */
	struct file *file;         /* owned */
	size_t nr, room;
};

int interpreters_judge_new(struct interpreters_judge **out)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct interpreters_judge *j = mem_zalloc(sizeof(*j));
	int rc;

	if (!j)
		return -ENOMEM;
	rc = elf_reader_new(&config, &j->reader);
	if (rc)
		interpreters_judge_free(j);
	else
		*out = j;
	return rc;
}

void interpreters_judge_free(struct interpreters_judge *j)
{
	if (!j)
		return;
	elf_reader_free(j->reader);
	mem_free(j->file);
	mem_free(j);
}

/* --- a file */

static bool is_named(const struct elf_section *texts, uint32_t at, const char *name)
{
	const size_t len = strlen(name) + 1;

	return at < texts->size && texts->size - at >= len &&
	       memcmp(texts->data + at, name, len) == 0;
}

/* The first versions with these functions, which none has without those before: up to 3.10 no
 * data says which it is. */
static const struct {
	const char *name;
	uint32_t version;
} since[] = {{"PyCode_NewWithPosOnlyArgs", 0x308},
	     {"PyFrame_GetCode", 0x309},
	     {"PyModule_AddObjectRef", 0x30a}};

/* Py_Version: 0x030b02f0 is 3.11.2. */
static uint32_t version_at(const struct elf_file *f, uint64_t address)
{
	size_t len = 0;
	const uint8_t *p = elf_file_bytes(f, address, 4, &len);

	return p && len >= 4 ? (uint32_t)p[3] << 8 | p[2] : 0;
}

/* From 3.13 on the runtime begins with offsets of its own. A build without the lock of the
 * interpreter has objects of another form. */
static bool is_free_threaded(const struct elf_file *f, const struct file *found)
{
	static const char cookie[] =
	    "xdebugpy"; /* then 64 bits: its version, and what is asked for */
	enum { COOKIE = 8, FREE_AT = 16, BYTES = 24, SINCE = 0x30d };
	size_t len = 0;
	const uint8_t *p;

	if (found->version < SINCE)
		return false;
	p = elf_file_bytes(f, found->runtime, BYTES, &len);
	return !p || len < BYTES || memcmp(p, cookie, COOKIE) != 0 || p[FREE_AT];
}

static void look_at_function(const struct elf_section *texts, const Elf64_Sym *s, struct file *out)
{
	for (size_t i = 0; i < ARRAY_NR(since); i++)
		if (out->version < since[i].version && is_named(texts, s->st_name, since[i].name))
			out->version = since[i].version;
}

static void look_at_symbol(const struct elf_file *f, const struct elf_section *texts,
			   const Elf64_Sym *s, struct file *out)
{
	if (s->st_shndx == SHN_UNDEF)
		return;
	if (is_named(texts, s->st_name, "_PyRuntime")) {
		out->runtime = s->st_value;
	} else if (is_named(texts, s->st_name, "_PyEval_EvalFrameDefault")) {
		out->loop_begin = s->st_value;
		out->loop_end = s->st_value + s->st_size;
	} else if (is_named(texts, s->st_name, "PyCode_Type")) {
		out->code_type = s->st_value;
	} else if (is_named(texts, s->st_name, "Py_Version")) {
		out->version = version_at(f, s->st_value);
	} else {
		look_at_function(texts, s, out);
	}
}

static bool find_table(const struct elf_file *f, const char *name, struct elf_section *table,
		       struct elf_section *texts)
{
	return elf_file_load_section(f, name, table) && table->link &&
	       elf_file_section(f, table->link, texts) && elf_file_load(f, texts) &&
	       table->size >= sizeof(Elf64_Sym);
}

static void look_at_symbols(const struct elf_file *f, struct file *out)
{
	struct elf_section table, texts;
	size_t nr;
	Elf64_Sym s;

	if (!elf_file_is_64(f) || elf_file_machine(f) != EM_X86_64 ||
	    (!find_table(f, ".dynsym", &table, &texts) &&
	     !find_table(f, ".symtab", &table, &texts)))
		return;
	nr = table.size / sizeof(s);
	for (size_t i = 0; i < nr && i < MAX_SYMBOLS; i++) {
		memcpy(&s, table.data + i * sizeof(s), sizeof(s));
		look_at_symbol(f, &texts, &s, out);
	}
	if (!out->runtime || !out->loop_begin || !out->code_type || is_free_threaded(f, out))
		out->version = 0;
}

static void read_file(struct interpreters_judge *j, uint32_t process, const struct proc_mapping *m,
		      struct file *out)
{
	char name[PROC_NAME_BYTES], path[PATH_MAX];
	struct elf_reader_file where = {.path = path, .is_of_kernel = true};
	struct elf_file *f;
	struct stat st;
	uint64_t address;

	proc_map_file(m->start, m->end, name);
	if (proc_path(PROC(&root_live, process), name, path, sizeof(path)) < 0 ||
	    elf_file_open_as(j->reader, &where, &f, &st, NULL))
		return;
	look_at_symbols(f, out);
	if (out->version && elf_file_mapping_address(f, 0, false, &address))
		out->bias = address;
	elf_file_close(f);
}

static const struct file *find_file(struct interpreters_judge *j, uint32_t process,
				    const struct proc_mapping *m)
{
	struct file *f;

	for (size_t i = 0; i < j->nr; i++)
		if (j->file[i].inode == m->inode && j->file[i].major == m->major &&
		    j->file[i].minor == m->minor)
			return &j->file[i];
	if (j->nr == MAX_FILES)
		j->nr = 0; /* they are read again */
	f = MEM_ADD(j->file, j->nr, j->room);
	if (!f)
		return NULL;
	*f = (struct file){.major = m->major, .minor = m->minor, .inode = m->inode};
	read_file(j, process, m, f);
	return f;
}

/* --- a process */

static const struct interpreters_version *find_version(uint32_t version)
{
	return ARRAY_FIND(it, versions, ARRAY_NR(versions),
			  it->major == version >> 8 && it->minor == (version & 0xff));
}

/* The program itself, whatever its name, and libraries whose name says what they are. */
static bool may_be(const struct proc_mapping *m, bool is_program)
{
	return m->inode && !m->offset && m->name_len && m->name[0] == '/' &&
	       (is_program || memmem(m->name, m->name_len, "python", 6));
}

static void set(const struct file *f, const struct interpreters_version *v, uint64_t start,
		struct bpf_interpreted_process *out)
{
	const uint64_t base = start - f->bias;

	out->state = BPF_INTERPRETED_IS;
	out->at = v->at;
	out->runtime = base + f->runtime;
	out->code_type = base + f->code_type;
	out->loop_begin = base + f->loop_begin;
	out->loop_end = base + f->loop_end;
}

bool interpreters_judge_process(struct interpreters_judge *j, uint32_t process, bool is_thorough,
				struct bpf_interpreted_process *out)
{
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	const struct interpreters_version *v;
	struct proc_mapping m;
	bool is_called_so = false;
	size_t nr = 0;
	const char *at;

	out->state = BPF_INTERPRETED_NONE;
	if (proc_load(PROC(&root_live, process), "maps", &maps) || buf_error(&maps) || !maps.len)
		return false;
	at = buf_str(&maps);
	while (nr < MAX_LOOKED_AT && proc_maps_next(&at, maps.data + maps.len, &m)) {
		const struct file *f =
		    may_be(&m, is_thorough && !nr) ? find_file(j, process, &m) : NULL;

		nr += f != NULL;
		is_called_so |= f && may_be(&m, false);
		v = f && f->version ? find_version(f->version) : NULL;
		if (!v)
			continue;
		set(f, v, m.start, out);
		return false;
	}
	return is_called_so;
}
