/*
 * A file is read once: it is remembered by device and inode. Modules that an interpreter loads have
 * the symbol, too, but do not define it.
 */
#include "interpreters/judge.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/root.h"
#include "elf/file.h"
#include "elf/reader.h"
#include "interpreters/language.h"
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
	MAX_LANGUAGES = BPF_INTERPRETED_NR,
	MAX_WANTED_BYTES = 16384, /* their names */
	MAX_NAME_BYTES = 128,     /* of one, with its NUL */
};

/* What a file says. language NULL: it is no interpreter. */
struct file {
	uint32_t major, minor;
	uint64_t inode;
	const struct interpreters_language *language;
	bool is_whole;                     /* looked at for all languages */
	struct bpf_interpreted_process is; /* with addresses in the file */
	uint64_t bias;                     /* the address of offset 0 of its first mapping */
};

/* A symbol that a language is interested in. */
struct wanted {
	const char *name;
	size_t at; /* of its language, in the symbols that are found */
};

struct interpreters_judge {
	struct elf_reader *reader; /* owned */
	struct file *file;         /* owned */
	size_t nr, room;
	struct dict wanted; /* of struct wanted */
	struct interpreters_symbol found[MAX_LANGUAGES * INTERPRETERS_MAX_SYMBOLS];
};

static int want_symbols(struct interpreters_judge *j)
{
	dict_init_texts(&j->wanted, sizeof(struct wanted), MAX_LANGUAGES * INTERPRETERS_MAX_SYMBOLS,
			MAX_WANTED_BYTES);
	for (size_t i = 0; interpreters_languages[i]; i++) {
		const char *const *name = interpreters_languages[i]->symbols;

		for (size_t s = 0; name[s]; s++) {
			struct wanted *w = dict_get(&j->wanted, name[s]);

			if (!w)
				return -ENOMEM;
			w->at = i * INTERPRETERS_MAX_SYMBOLS + s;
		}
	}
	return 0;
}

int interpreters_judge_new(struct interpreters_judge **out)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct interpreters_judge *j = mem_zalloc(sizeof(*j));
	int rc;

	if (!j)
		return -ENOMEM;
	rc = want_symbols(j) ?: elf_reader_new(&config, &j->reader);
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
	dict_fini(&j->wanted);
	mem_free(j->file);
	mem_free(j);
}

/* --- a file */

static void look_at_symbol(struct interpreters_judge *j, const struct elf_section *texts,
			   const Elf64_Sym *s)
{
	const struct wanted *w;
	size_t left;

	if (s->st_shndx == SHN_UNDEF || s->st_name >= texts->size)
		return;
	left = texts->size - s->st_name;
	if (!memchr(texts->data + s->st_name, 0, left < MAX_NAME_BYTES ? left : MAX_NAME_BYTES))
		return;
	w = dict_at(&j->wanted, dict_find(&j->wanted, texts->data + s->st_name));
	if (w)
		j->found[w->at] = (struct interpreters_symbol){s->st_value, s->st_size};
}

static bool find_table(const struct elf_file *f, const char *name, struct elf_section *table,
		       struct elf_section *texts)
{
	return elf_file_load_section(f, name, table) && table->link &&
	       elf_file_section(f, table->link, texts) && elf_file_load(f, texts) &&
	       table->size >= sizeof(Elf64_Sym);
}

static bool find_symbols(struct interpreters_judge *j, const struct elf_file *f, const char *name)
{
	struct elf_section table, texts;
	size_t nr;
	Elf64_Sym s;

	if (!find_table(f, name, &table, &texts))
		return false;
	nr = table.size / sizeof(s);
	for (size_t i = 0; i < nr && i < MAX_SYMBOLS; i++) {
		memcpy(&s, table.data + i * sizeof(s), sizeof(s));
		look_at_symbol(j, &texts, &s);
	}
	return true;
}

static const struct interpreters_language *find_language(struct interpreters_judge *j,
							 const struct elf_file *f,
							 struct bpf_interpreted_process *out)
{
	const struct interpreters_language *const *l = interpreters_languages;

	for (size_t i = 0; l[i]; i++)
		if (!l[i]->section && l[i]->read(f, j->found + i * INTERPRETERS_MAX_SYMBOLS, out))
			return l[i];
	return NULL;
}

/* The language that has a section of this file; NULL: none. */
static const struct interpreters_language *find_by_section(const struct elf_file *f)
{
	const struct interpreters_language *const *l = interpreters_languages;
	struct elf_section s;

	for (size_t i = 0; l[i]; i++)
		if (l[i]->section && elf_file_find_section(f, l[i]->section, &s))
			return l[i];
	return NULL;
}

static void look_at_file(struct interpreters_judge *j, const struct elf_file *f, struct file *out)
{
	const struct interpreters_language *by_section;

	if (!elf_file_is_64(f) || elf_file_machine(f) != EM_X86_64)
		return;
	by_section = find_by_section(f);
	if (by_section && by_section->read(f, NULL, &out->is))
		out->language = by_section;
	out->is_whole |= by_section != NULL;
	if (by_section || !out->is_whole)
		return;
	memset(j->found, 0, sizeof(j->found));
	if (!find_symbols(j, f, ".dynsym") && !find_symbols(j, f, ".symtab"))
		return;
	out->language = find_language(j, f, &out->is);
	if (out->language && out->language->has_local && find_symbols(j, f, ".symtab"))
		out->language = find_language(j, f, &out->is);
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
	look_at_file(j, f, out);
	if (out->language && elf_file_mapping_address(f, 0, false, &address))
		out->bias = address;
	elf_file_close(f);
}

/* is_whole: for all languages; else for those that a section shows. */
static const struct file *find_file(struct interpreters_judge *j, uint32_t process,
				    const struct proc_mapping *m, bool is_whole)
{
	struct file *f;

	for (size_t i = 0; i < j->nr; i++) {
		f = &j->file[i];
		if (f->inode != m->inode || f->major != m->major || f->minor != m->minor)
			continue;
		if (is_whole && !f->is_whole) {
			f->is_whole = true;
			read_file(j, process, m, f);
		}
		return f;
	}
	if (j->nr == MAX_FILES)
		j->nr = 0; /* they are read again */
	f = MEM_ADD(j->file, j->nr, j->room);
	if (!f)
		return NULL;
	*f = (struct file){
	    .major = m->major, .minor = m->minor, .inode = m->inode, .is_whole = is_whole};
	read_file(j, process, m, f);
	return f;
}

/* --- a process */

/* Whether its file's name has that of a language. Folders are called so, too, in which it has
 * dozens of other libraries (/usr/lib/php/20220829). */
static bool is_called_so(const struct proc_mapping *m)
{
	const char *slash = memrchr(m->name, '/', m->name_len);
	const char *file = slash ? slash + 1 : m->name;

	for (size_t i = 0; interpreters_languages[i]; i++) {
		const char *name = interpreters_languages[i]->file;

		if (name &&
		    memmem(file, (size_t)(m->name + m->name_len - file), name, strlen(name)))
			return true;
	}
	return false;
}

/* The program itself, whatever its name, and libraries whose name says what they are. */
static bool may_be(const struct proc_mapping *m, bool is_program)
{
	return m->inode && !m->offset && m->name_len && m->name[0] == '/' &&
	       (is_program || is_called_so(m));
}

static void set(const struct file *f, uint64_t start, struct bpf_interpreted_process *out)
{
	const struct bpf_interpreted_process before = *out;
	const uint64_t base = start - f->bias;

	*out = f->is;
	out->space = before.space;
	out->until_ns = before.until_ns;
	out->nr_asked = before.nr_asked;
	out->state = BPF_INTERPRETED_IS;
	out->language = f->language->number;
	if (out->loop_end) {
		out->loop_begin += base;
		out->loop_end += base;
	}
	f->language->move(out, base);
}

bool interpreters_judge_process(struct interpreters_judge *j, uint32_t process, bool is_thorough,
				struct bpf_interpreted_process *out)
{
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	struct proc_mapping m;
	bool may_become = false;
	size_t nr = 0;
	const char *at;

	out->state = BPF_INTERPRETED_NONE;
	if (proc_load(PROC(&root_live, process), "maps", &maps) || buf_error(&maps) || !maps.len)
		return false;
	at = buf_str(&maps);
	while (nr < MAX_LOOKED_AT && proc_maps_next(&at, maps.data + maps.len, &m)) {
		const bool is_so = may_be(&m, false);
		const struct file *f =
		    may_be(&m, !nr) ? find_file(j, process, &m, is_so || is_thorough) : NULL;

		nr += f != NULL;
		may_become |= f && is_so;
		if (!f || !f->language)
			continue;
		set(f, m.start, out);
		return false;
	}
	return may_become;
}
