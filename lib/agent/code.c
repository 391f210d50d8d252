#include "agent/code.h"

#include "agent/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { NR_PLACES = 1024, KIND_CODE = 0x4344, CHUNK_BYTES = 2048, MAX_HEADERS = 64, MAX_PROBES = 8 };
enum { MAX_SECTIONS = 1 << 16, LINE_BYTES = PATH_MAX + 128 };

/* What a line of /proc/self/maps says. */
struct mapping {
	uint64_t begin, end, offset;
	char *path; /* in the line */
};

struct code {
	char path[PATH_MAX];
	uint64_t address; /* in the file's own addresses */
	char symbol[AGENT_TEXT_BYTES];
	uint64_t start; /* of the symbol */
};

/* --- where the address is mapped */

static uint64_t read_hex(char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		const char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* "begin-end rights offset device inode path" */
static bool read_line(char *line, struct mapping *m)
{
	char *at = line;

	m->begin = read_hex(&at);
	if (*at++ != '-')
		return false;
	m->end = read_hex(&at);
	at = strchr(at, ' ') ? strchr(strchr(at, ' ') + 1, ' ') : NULL;
	if (!at)
		return false;
	at++;
	m->offset = read_hex(&at);
	m->path = strchr(at, '/');
	return m->path != NULL;
}

/* Calls for the lines of a descriptor until it returns true. Longer ones are passed by. */
static bool find_line(int fd, bool (*is_it)(char *line, void *arg), void *arg)
{
	char text[LINE_BYTES];
	size_t used = 0;
	bool is_whole = true;

	for (;;) {
		const ssize_t nr = read(fd, text + used, sizeof(text) - 1 - used);
		char *line = text, *end;

		if (nr <= 0)
			return false;
		used += (size_t)nr;
		text[used] = '\0';
		for (; (end = memchr(line, '\n', used - (size_t)(line - text))); line = end + 1) {
			*end = '\0';
			if (is_whole && is_it(line, arg))
				return true;
			is_whole = true;
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
		if (used == sizeof(text) - 1) {
			is_whole = false;
			used = 0;
		}
	}
}

static bool has_address(char *line, void *arg)
{
	struct code *c = arg;
	struct mapping m;
	size_t len;

	if (!read_line(line, &m) || c->address < m.begin || c->address >= m.end)
		return false;
	len = strlen(m.path);
	if (len >= sizeof(c->path))
		return false;
	memcpy(c->path, m.path, len + 1);
	c->address += m.offset - m.begin;
	return true;
}

/* The file, and the offset in it as the address. */
static bool find_file(struct code *c)
{
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool is_found;

	if (fd < 0)
		return false;
	is_found = find_line(fd, has_address, c);
	close(fd);
	return is_found;
}

/* --- its symbol */

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* The offset becomes an address of the file. */
static bool find_address(int fd, const ElfW(Ehdr) * header, struct code *c)
{
	ElfW(Phdr) p;

	for (unsigned i = 0; i < header->e_phnum && i < MAX_HEADERS; i++) {
		if (!read_at(fd, &p, sizeof(p), header->e_phoff + i * sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && c->address >= p.p_offset &&
		    c->address - p.p_offset < p.p_filesz) {
			c->address += p.p_vaddr - p.p_offset;
			return true;
		}
	}
	return false;
}

static bool find_section(int fd, const ElfW(Ehdr) * header, unsigned type, ElfW(Shdr) * s)
{
	for (unsigned i = 0; i < header->e_shnum && i < MAX_SECTIONS; i++)
		if (!read_at(fd, s, sizeof(*s), header->e_shoff + i * sizeof(*s)))
			return false;
		else if (s->sh_type == type)
			return true;
	return false;
}

/* The function of a table that has the address. */
static bool find_in_table(int fd, const ElfW(Shdr) * table, const struct code *c, ElfW(Sym) * found)
{
	ElfW(Sym) symbols[CHUNK_BYTES / sizeof(ElfW(Sym))];
	const uint64_t nr = table->sh_size / sizeof(*symbols);
	const size_t most = sizeof(symbols) / sizeof(*symbols);

	for (uint64_t i = 0; i < nr; i += most) {
		const size_t now = nr - i < most ? (size_t)(nr - i) : most;

		if (!read_at(fd, symbols, now * sizeof(*symbols),
			     table->sh_offset + i * sizeof(*symbols)))
			return false;
		for (size_t k = 0; k < now; k++)
			if ((symbols[k].st_info & 15) == STT_FUNC && symbols[k].st_shndx &&
			    c->address >= symbols[k].st_value &&
			    c->address - symbols[k].st_value < symbols[k].st_size) {
				*found = symbols[k];
				return true;
			}
	}
	return false;
}

static bool read_symbol(int fd, const ElfW(Ehdr) * header, unsigned type, struct code *c)
{
	ElfW(Shdr) table, names;
	ElfW(Sym) symbol;
	ssize_t nr;

	if (!find_section(fd, header, type, &table) || table.sh_link >= header->e_shnum ||
	    !read_at(fd, &names, sizeof(names), header->e_shoff + table.sh_link * sizeof(names)) ||
	    !find_in_table(fd, &table, c, &symbol) || symbol.st_name >= names.sh_size)
		return false;
	nr = pread(fd, c->symbol, sizeof(c->symbol) - 1, (off_t)(names.sh_offset + symbol.st_name));
	c->symbol[nr > 0 ? nr : 0] = '\0';
	c->start = symbol.st_value;
	return *c->symbol != '\0';
}

static void find_symbol(struct code *c)
{
	const int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ElfW(Ehdr) header;

	if (fd < 0)
		return;
	if (read_at(fd, &header, sizeof(header), 0) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	    header.e_phentsize == sizeof(ElfW(Phdr)) && find_address(fd, &header, c) &&
	    header.e_shentsize == sizeof(ElfW(Shdr)) && !read_symbol(fd, &header, SHT_SYMTAB, c))
		(void)read_symbol(fd, &header, SHT_DYNSYM, c);
	close(fd);
}

/* --- the name */

static size_t add_text(char out[AGENT_TEXT_BYTES], size_t len, const char *text, size_t most)
{
	for (; *text && len < most; text++)
		out[len++] = *text;
	return len;
}

static size_t add_hex(char out[AGENT_TEXT_BYTES], size_t len, uint64_t value)
{
	unsigned digits = 1;

	while (digits < 16 && value >> 4 * digits)
		digits++;
	len = add_text(out, len, "+0x", AGENT_MAX_NAME);
	while (digits-- && len < AGENT_MAX_NAME)
		out[len++] = "0123456789abcdef"[value >> 4 * digits & 15];
	return len;
}

/* The address is where the call returns to, which may be the next function's. */
static const char *make_name(const char *what, const void *address)
{
	enum { ROOM_FOR_HEX = 19 };
	struct code c;
	char text[AGENT_TEXT_BYTES];
	size_t len = add_text(text, 0, what, AGENT_MAX_NAME);
	const struct agent_name *n;

	c.address = (uint64_t)(uintptr_t)address - 1;
	c.start = 0;
	*c.symbol = '\0';
	if (find_file(&c)) {
		find_symbol(&c);
		len = add_text(text, len, " ", AGENT_MAX_NAME);
		len = add_text(text, len, *c.symbol ? c.symbol : strrchr(c.path, '/') + 1,
			       AGENT_MAX_NAME - ROOM_FOR_HEX);
		len = add_hex(text, len, c.address + 1 - c.start);
	}
	text[len] = '\0';
	n = agent_name(KIND_CODE, text, NULL);
	return n ? n->text : what;
}

/* Those that were found: of an address, as the thread that claims its place writes it. */
struct place {
	const void *address;
	const char *what, *name; /* name: NULL until both are there */
};

static struct place places[NR_PLACES];

static struct place *find_place(const void *address)
{
	const size_t first = (size_t)((uintptr_t)address * 0x9e3779b97f4a7c15u >> 32);

	for (size_t i = 0; i < MAX_PROBES; i++) {
		struct place *p = &places[(first + i) % NR_PLACES];
		const void *seen = __atomic_load_n(&p->address, __ATOMIC_RELAXED);

		if (!seen && __atomic_compare_exchange_n(&p->address, &seen, address, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return p;
		if (seen == address)
			return p;
	}
	return NULL;
}

/* Two threads may write it at once, and the same: names are unique. */
const char *agent_code_name(const char *what, const void *address)
{
	struct place *p = address ? find_place(address) : NULL;
	const char *name = p ? __atomic_load_n(&p->name, __ATOMIC_ACQUIRE) : NULL;
	const int error = errno;

	if (name && p->what == what)
		return name;
	name = address ? make_name(what, address) : what;
	if (p && !__atomic_load_n(&p->name, __ATOMIC_RELAXED)) {
		p->what = what;
		__atomic_store_n(&p->name, name, __ATOMIC_RELEASE);
	}
	errno = error;
	return name;
}
