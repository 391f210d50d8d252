#include "attach/space.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "proc/maps.h"
#include "proc/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_TEXT_BYTES = 64 << 20,
	MAX_HEADERS = 64,
	MAX_DYNAMIC = 512,
	MAX_TABLES_BYTES = 512 << 20,
	MAX_SYMBOLS = 1 << 22,
	MAX_STRINGS_BYTES = 256 << 20,
	CODE_BYTES = 1 << 20, /* at a time */
};

bool attach_space_read(const struct attach_space *s, uint64_t address, void *to, size_t bytes)
{
	return pread(s->memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool attach_space_write(const struct attach_space *s, uint64_t address, const void *from,
			size_t bytes)
{
	return pwrite(s->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* --- mappings */

/* The name ends where the newline was. */
static int add_mapping(struct attach_space *s, const struct proc_mapping *from)
{
	struct attach_mapping *m = MEM_ADD(s->mapping, s->nr, s->room);

	if (!m)
		return -ENOMEM;
	s->text[from->name - s->text + (ptrdiff_t)from->name_len] = '\0';
	*m = (struct attach_mapping){.start = from->start,
				     .end = from->end,
				     .offset = from->offset,
				     .inode = from->inode,
				     .major = from->major,
				     .minor = from->minor,
				     .is_readable = from->prot & PROC_MAPS_READ,
				     .is_writable = from->prot & PROC_MAPS_WRITE,
				     .is_executable = from->prot & PROC_MAPS_EXEC,
				     .name = from->name};
	return 0;
}

static bool has_name(const char *path, const char *begin)
{
	return strncmp(str_base_name(path), begin, strlen(begin)) == 0;
}

static enum attach_kind kind_of(const char *path)
{
	static const char *const libc[] = {"libc.so.", "libc-2.", "libpthread", "libdl.", "libdl-"};

	if (has_name(path, "ld-linux") || has_name(path, "ld-2."))
		return ATTACH_LOADER;
	for (size_t i = 0; i < sizeof(libc) / sizeof(*libc); i++)
		if (has_name(path, libc[i]))
			return ATTACH_LIBC;
	return has_name(path, "libcpuperf-agent.so") || has_name(path, "libcpuperf-causal.so")
		   ? ATTACH_AGENT
		   : ATTACH_OTHER;
}

/* Mappings of one file in a row are of one object. */
static int add_object(struct attach_space *s, const struct attach_mapping *m)
{
	struct attach_object *last = s->nr_objects ? &s->object[s->nr_objects - 1] : NULL;

	if (!m->inode)
		return 0;
	if (last && last->inode == m->inode && strcmp(last->name, m->name) == 0 && m->offset) {
		last->end = m->end;
		return 0;
	}
	if (m->offset || !m->is_readable)
		return 0;
	last = MEM_ADD(s->object, s->nr_objects, s->object_room);
	if (!last)
		return -ENOMEM;
	*last = (struct attach_object){.name = m->name,
				       .inode = m->inode,
				       .start = m->start,
				       .end = m->end,
				       .kind = kind_of(m->name)};
	return 0;
}

int attach_space_open(struct attach_space *s, pid_t pid)
{
	BUF_AUTO(text, MAX_TEXT_BYTES);
	const struct proc *p = PROC(&root_live, (uint32_t)pid);
	struct proc_mapping m;
	const char *at, *end;
	char path[64];
	int rc = proc_path(p, "mem", path, sizeof(path));

	*s = (struct attach_space){.pid = pid, .memory = -1};
	s->memory = rc < 0 ? rc : open(path, O_RDWR | O_CLOEXEC);
	if (s->memory < 0)
		return rc < 0 ? rc : errno == ENOENT ? -ESRCH : -errno;
	rc = proc_load(p, "maps", &text);
	s->text = rc == 0 ? mem_strdup(buf_str(&text)) : NULL;
	rc = rc ? rc : s->text ? 0 : -ENOMEM;
	at = s->text;
	end = s->text ? s->text + strlen(s->text) : NULL;
	while (rc == 0 && proc_maps_next(&at, end, &m))
		rc = add_mapping(s, &m);
	for (size_t i = 0; i < s->nr && rc == 0; i++)
		rc = add_object(s, &s->mapping[i]);
	if (rc == 0 && !s->nr)
		rc = -ESRCH;
	if (rc)
		attach_space_close(s);
	return rc;
}

void attach_space_close(struct attach_space *s)
{
	for (size_t i = 0; i < s->nr_objects; i++) {
		mem_free(s->object[i].tables);
		mem_free(s->object[i].symbols);
		mem_free(s->object[i].strings);
	}
	mem_free(s->object);
	mem_free(s->mapping);
	mem_free(s->text);
	io_close(&s->memory);
	*s = (struct attach_space){.memory = -1};
}

const struct attach_mapping *attach_space_mapping(const struct attach_space *s, uint64_t address)
{
	return ARRAY_FIND(m, s->mapping, s->nr, address >= m->start && address < m->end);
}

struct attach_object *attach_space_object(struct attach_space *s, uint64_t address)
{
	const struct attach_mapping *m = attach_space_mapping(s, address);

	if (!m || !m->inode || !m->is_executable)
		return NULL;
	return ARRAY_FIND(o, s->object, s->nr_objects, address >= o->start && address < o->end);
}

struct attach_object *attach_space_of_kind(struct attach_space *s, enum attach_kind kind)
{
	return ARRAY_FIND(o, s->object, s->nr_objects, o->kind == kind);
}

/* --- parts of an object */

struct parts {
	Elf64_Phdr header[MAX_HEADERS];
	unsigned nr;
};

static bool read_parts(const struct attach_space *s, struct attach_object *o, struct parts *p)
{
	Elf64_Ehdr e;

	p->nr = 0;
	if (!attach_space_read(s, o->start, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_phentsize != sizeof(*p->header) || e.e_phnum > MAX_HEADERS ||
	    !attach_space_read(s, o->start + e.e_phoff, p->header, e.e_phnum * sizeof(*p->header)))
		return false;
	p->nr = e.e_phnum;
	for (unsigned i = 0; i < p->nr; i++)
		if (p->header[i].p_type == PT_LOAD) {
			o->bias = o->start - (p->header[i].p_vaddr & ~UINT64_C(4095));
			return true;
		}
	return false;
}

static const Elf64_Phdr *find_part(const struct parts *p, uint32_t type)
{
	return ARRAY_FIND(h, p->header, p->nr, h->p_type == type);
}

/* The bytes of the process there; NULL: they cannot be read. Owned. */
static void *copy_memory(const struct attach_space *s, uint64_t address, size_t bytes)
{
	void *to = mem_alloc(bytes ? bytes : 1);

	if (to && !attach_space_read(s, address, to, bytes)) {
		mem_free(to);
		to = NULL;
	}
	return to;
}

bool attach_tables(const struct attach_space *s, struct attach_object *o)
{
	const Elf64_Phdr *header;
	struct parts p;

	if (o->tables)
		return true;
	if (!read_parts(s, o, &p))
		return false;
	header = find_part(&p, PT_GNU_EH_FRAME);
	for (unsigned i = 0; header && i < p.nr; i++) {
		const Elf64_Phdr *h = &p.header[i];

		if (h->p_type != PT_LOAD || header->p_vaddr < h->p_vaddr ||
		    header->p_vaddr - h->p_vaddr >= h->p_filesz || h->p_filesz > MAX_TABLES_BYTES)
			continue;
		o->tables_at = o->bias + h->p_vaddr;
		o->tables_bytes = h->p_filesz;
		o->header_at = o->bias + header->p_vaddr;
		o->tables = copy_memory(s, o->tables_at, h->p_filesz);
	}
	return o->tables;
}

/* --- symbols */

struct dynamic {
	uint64_t symbols, strings, strings_bytes, hash;
};

static bool read_dynamic(const struct attach_space *s, struct attach_object *o, struct dynamic *out)
{
	Elf64_Dyn d[MAX_DYNAMIC];
	const Elf64_Phdr *h;
	struct parts p;
	uint64_t nr;

	*out = (struct dynamic){0};
	h = read_parts(s, o, &p) ? find_part(&p, PT_DYNAMIC) : NULL;
	nr = h ? h->p_memsz / sizeof(*d) : 0;
	nr = nr < MAX_DYNAMIC ? nr : MAX_DYNAMIC;
	if (!nr || !attach_space_read(s, o->bias + h->p_vaddr, d, nr * sizeof(*d)))
		return false;
	for (uint64_t i = 0; i < nr && d[i].d_tag != DT_NULL; i++) {
		uint64_t value = d[i].d_un.d_val;
		/* the loader has added the bias, but not everywhere */
		uint64_t address = value < o->start ? o->bias + value : value;

		if (d[i].d_tag == DT_SYMTAB)
			out->symbols = address;
		if (d[i].d_tag == DT_STRTAB)
			out->strings = address;
		if (d[i].d_tag == DT_STRSZ)
			out->strings_bytes = value;
		if (d[i].d_tag == DT_GNU_HASH)
			out->hash = address;
	}
	return out->symbols && out->strings && out->hash;
}

/* By the table of hashes, which ends with the last one. 0: it is invalid. */
static size_t count_symbols(const struct attach_space *s, uint64_t hash)
{
	uint32_t head[4], last = 0, *buckets, word;
	uint64_t at;

	if (!attach_space_read(s, hash, head, sizeof(head)) || head[0] > MAX_SYMBOLS ||
	    head[2] > MAX_SYMBOLS)
		return 0;
	at = hash + sizeof(head) + (uint64_t)head[2] * 8;
	buckets = copy_memory(s, at, (size_t)head[0] * sizeof(*buckets));
	for (uint32_t i = 0; buckets && i < head[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	mem_free(buckets);
	at += (uint64_t)head[0] * sizeof(*buckets);
	if (last < head[1])
		return last ? 0 : head[1];
	for (; last < MAX_SYMBOLS; last++)
		if (!attach_space_read(s, at + (uint64_t)(last - head[1]) * 4, &word, 4))
			return 0;
		else if (word & 1)
			return last + 1;
	return 0;
}

static bool load_symbols(const struct attach_space *s, struct attach_object *o)
{
	struct dynamic d;
	size_t nr;

	if (o->symbols)
		return true;
	if (!read_dynamic(s, o, &d) || d.strings_bytes > MAX_STRINGS_BYTES)
		return false;
	nr = count_symbols(s, d.hash);
	if (!nr || nr > MAX_SYMBOLS)
		return false;
	o->symbols = copy_memory(s, d.symbols, nr * sizeof(Elf64_Sym));
	o->strings = copy_memory(s, d.strings, d.strings_bytes);
	if (!o->symbols || !o->strings)
		return false;
	o->nr_symbols = nr;
	o->strings_bytes = d.strings_bytes;
	return true;
}

uint64_t attach_symbol(const struct attach_space *s, struct attach_object *o, const char *name,
		       uint64_t *bytes)
{
	size_t len = strlen(name) + 1;

	for (size_t i = 0; load_symbols(s, o) && i < o->nr_symbols; i++) {
		Elf64_Sym sym;

		memcpy(&sym, o->symbols + i * sizeof(sym), sizeof(sym));
		if (!sym.st_shndx || sym.st_name >= o->strings_bytes ||
		    o->strings_bytes - sym.st_name < len ||
		    memcmp(o->strings + sym.st_name, name, len) != 0)
			continue;
		if (bytes)
			*bytes = sym.st_size;
		return o->bias + sym.st_value;
	}
	return 0;
}

uint64_t attach_code(const struct attach_space *s, uint64_t start, uint64_t end, const void *bytes,
		     size_t len)
{
	uint8_t *part = mem_alloc(CODE_BYTES);
	uint64_t found = 0;

	for (size_t i = 0; part && i < s->nr && !found; i++) {
		const struct attach_mapping *m = &s->mapping[i];

		if (!m->is_executable || m->start < start || m->end > end)
			continue;
		for (uint64_t at = m->start; at < m->end && !found; at += CODE_BYTES - len) {
			size_t some = m->end - at < CODE_BYTES ? m->end - at : CODE_BYTES;
			const uint8_t *place = NULL;

			if (attach_space_read(s, at, part, some))
				place = memmem(part, some, bytes, len);
			if (place)
				found = at + (uint64_t)(place - part);
			if (some < CODE_BYTES)
				break;
		}
	}
	mem_free(part);
	return found;
}
