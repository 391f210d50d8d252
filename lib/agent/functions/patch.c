/*
 * Functions that begin with NOPs (-fpatchable-function-entry=N, N of 5 at least): before the
 * program's first line they become calls of agent_entry. And those with sleds of XRay
 * (-fxray-instrument of clang) where they begin and end, which become calls of agent_begin and
 * agent_end, so that these have times.
 *
 * Where they are is said by the section __patchable_function_entries. With M, a number of NOPs
 * before a function's label, it names an address from which nobody comes by a call, and the label
 * may lie within the 5 bytes. So a place is written only if a symbol says that a function begins
 * there, or behind NOPs from there on, and if all that is written over is NOPs. Else it remains as
 * it is, and is counted. So is what is not measured, but for the counting.
 *
 * All this in the constructor: one thread runs, and none is in what is written. What is loaded
 * later is not prepared.
 */
#include "agent/functions/agent.h"

#if defined(__x86_64__)

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CALL_BYTES = 5,
	STUB_BYTES = 4096,
	STUB_STEP = 1 << 16,
	STUB_TRIES = 1 << 12,
	MAX_SECTIONS = 1 << 14,
	MAX_NAMES = 1 << 20,
	MAX_SYMBOLS = 1 << 22,
	MAX_ENTRIES = 1 << 20,
};

/* glibc has it since 2.32. */
extern char __libc_single_threaded __attribute__((weak));

struct pages {
	char *at; /* NULL: none */
	size_t bytes;
};

static struct pages get_pages(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return (struct pages){at == MAP_FAILED ? NULL : at, bytes};
}

static void free_pages(struct pages *p)
{
	if (p->at)
		munmap(p->at, p->bytes);
}
#define PAGES_AUTO __attribute__((cleanup(free_pages))) struct pages

/* A part of a file. .at NULL: it cannot be read. */
static struct pages load(int fd, uint64_t offset, uint64_t bytes, uint64_t most)
{
	struct pages p = {NULL, 0};

	if (!bytes || bytes > most)
		return p;
	p = get_pages(bytes);
	if (p.at && pread(fd, p.at, bytes, (off_t)offset) != (ssize_t)bytes) {
		free_pages(&p);
		p.at = NULL;
	}
	return p;
}

struct object {
	uintptr_t base;
	const ElfW(Phdr) * segments;
	size_t nr_segments;
	const char *stubs; /* jumps that its calls can reach; NULL: none yet */
};

/* The segment that has so many bytes at the address. NULL: none. */
static const ElfW(Phdr) *
    find_segment(const struct object *o, uintptr_t address, size_t bytes, uint32_t flags)
{
	for (size_t i = 0; i < o->nr_segments; i++) {
		const ElfW(Phdr) *s = &o->segments[i];
		uintptr_t begin = o->base + s->p_vaddr;

		if (s->p_type == PT_LOAD && (s->p_flags & flags) == flags && address >= begin &&
		    bytes <= s->p_filesz && address - begin <= s->p_filesz - bytes)
			return s;
	}
	return NULL;
}

/* --- a place of NOPs */

/* The length of a NOP: 90, or 0f 1f with operands that are not read, behind prefixes; 0: it is
 * none.
 */
static size_t nop_length(const uint8_t *at, size_t room)
{
	enum { MOST = 15 };
	size_t len = 0, least = 3;
	unsigned mode, of_memory, base;

	room = room < MOST ? room : MOST;
	while (len < room && (at[len] == 0x66 || at[len] == 0x2e))
		len++;
	if (len < room && at[len] == 0x90)
		return len + 1;
	if (room < len + least || at[len] != 0x0f || at[len + 1] != 0x1f || at[len + 2] & 0x38)
		return 0;
	mode = at[len + 2] >> 6;
	of_memory = at[len + 2] & 7;
	len += least;
	base = of_memory;
	if (mode != 3 && of_memory == 4) { /* a byte of scale, index and base */
		if (len == room)
			return 0;
		base = at[len++] & 7;
	}
	len += mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;
	return len <= room ? len : 0;
}

/* How many bytes of whole NOPs there are, at least as many or a few more; 0: not as many. */
static size_t nops_length(const uint8_t *at, size_t least, size_t room)
{
	size_t sum = 0, len;

	while (sum < least) {
		len = nop_length(at + sum, room - sum);
		if (!len)
			return 0;
		sum += len;
	}
	return sum;
}

/* Where calls lead, by jumps of a page below or above the object. */
enum stub { STUB_ENTRY, STUB_BEGIN, STUB_END, NR_STUBS, STUB_DISTANCE = 16 };

static void write_stubs(char *page)
{
	static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* to the address behind it */
	const uint64_t target[NR_STUBS] = {[STUB_ENTRY] = (uintptr_t)agent_entry,
					   [STUB_BEGIN] = (uintptr_t)agent_begin,
					   [STUB_END] = (uintptr_t)agent_end};

	for (int i = 0; i < NR_STUBS; i++) {
		memcpy(page + i * STUB_DISTANCE, jump, sizeof(jump));
		memcpy(page + i * STUB_DISTANCE + sizeof(jump), &target[i], sizeof(target[i]));
	}
}

static const char *make_stubs(uintptr_t near)
{
	uintptr_t from = near & ~(uintptr_t)(STUB_STEP - 1);

	for (uintptr_t i = 1; i < STUB_TRIES; i++) {
		uintptr_t want = i & 1 ? from - (i / 2 + 1) * STUB_STEP : from + i / 2 * STUB_STEP;
		char *at;

		if (want > from && i & 1) /* below 0 */
			continue;
		at = mmap((void *)want, STUB_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* MAP_FIXED_NOREPLACE */, -1, 0);
		if (at == MAP_FAILED)
			continue;
		if ((uintptr_t)at == want) {
			write_stubs(at);
			if (mprotect(at, STUB_BYTES, PROT_READ | PROT_EXEC) == 0)
				return at;
		}
		munmap(at, STUB_BYTES);
	}
	return NULL;
}

/* Its pages remain executable meanwhile: where that is forbidden nothing is written. */
static bool write_code(uint8_t *at, const uint8_t *code, size_t len)
{
	uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)4095);
	size_t bytes = (size_t)(at + len - page);

	if (mprotect(page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy(at, code, len);
	(void)mprotect(page, bytes, PROT_READ | PROT_EXEC);
	return true;
}

/* code: of len bytes, which begins with the call that is made here. */
static bool write_call(struct object *o, uint8_t *at, enum stub stub, uint8_t *code, size_t len)
{
	int64_t distance;
	int32_t near;

	if (!o->stubs)
		o->stubs = make_stubs((uintptr_t)at);
	if (!o->stubs)
		return false;
	distance = (intptr_t)o->stubs + stub * STUB_DISTANCE - ((intptr_t)at + CALL_BYTES);
	near = (int32_t)distance;
	if (near != distance)
		return false;
	code[0] = 0xe8;
	memcpy(code + 1, &near, sizeof(near));
	return write_code(at, code, len);
}

/* How many bytes of code that is not written are at the address; 0: none. */
static size_t room_of(const struct object *o, const uint8_t *at)
{
	const ElfW(Phdr) *segment = find_segment(o, (uintptr_t)at, CALL_BYTES, PF_R | PF_X);

	return segment && !(segment->p_flags & PF_W)
		   ? o->base + segment->p_vaddr + segment->p_filesz - (uintptr_t)at
		   : 0;
}

static bool write_entry(struct object *o, uint8_t *at)
{
	enum { MOST = CALL_BYTES + 15 };
	size_t room = room_of(o, at), len = room ? nops_length(at, CALL_BYTES, room) : 0;
	uint8_t code[MOST];

	if (!len)
		return false;
	memset(code, 0x90, sizeof(code));
	return write_call(o, at, STUB_ENTRY, code, len);
}

/* --- which places */

/* Entries, by their addresses. */
struct set {
	struct entry {
		uintptr_t at;   /* as the section has it; 0: none */
		uintptr_t nops; /* in the function that it is of; 0: not known */
	} * entry;
	size_t mask;
};

static struct entry *find(const struct set *s, uintptr_t address)
{
	size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) & s->mask;

	while (s->entry[at].at && s->entry[at].at != address)
		at = (at + 1) & s->mask;
	return &s->entry[at];
}

/* That of NOPs before the label. */
static struct entry *find_before(const struct set *s, const struct object *o, uintptr_t function)
{
	enum { MOST = 64 };
	struct entry *e = NULL;

	for (uintptr_t at = function - 1;
	     function - at <= MOST && find_segment(o, at, 1, PF_R | PF_X) &&
	     *(const uint8_t *)at == 0x90 && !(e && e->at);
	     at--)
		e = find(s, at);
	return e && e->at ? e : NULL;
}

/* A function begins at the address, with its NOPs or with a landing pad before them. */
static void see_function(const struct set *s, const struct object *o, uintptr_t address)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	bool has_pad = find_segment(o, address, sizeof(endbr), PF_R | PF_X) &&
		       memcmp((const void *)address, endbr, sizeof(endbr)) == 0;
	uintptr_t nops = address + (has_pad ? sizeof(endbr) : 0);
	struct entry *e = find(s, nops);

	if (!e->at)
		e = find_before(s, o, address);
	if (e)
		e->nops = nops;
}

static void see_functions(const struct set *s, const struct object *o, const struct pages *symbols)
{
	const ElfW(Sym) *symbol = (const void *)symbols->at;

	for (size_t i = 0; symbols->at && i < symbols->bytes / sizeof(*symbol); i++)
		if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_shndx &&
		    symbol[i].st_value)
			see_function(s, o, o->base + symbol[i].st_value);
}

static void write_calls(struct object *o, const uintptr_t *entry, size_t nr,
			const struct pages *symbols)
{
	struct functions_header *h = agent.shared;
	size_t room = 2;
	struct set s;

	while (room < 2 * nr)
		room *= 2;
	PAGES_AUTO entries = get_pages(room * sizeof(*s.entry));
	if (!entries.at)
		return;
	s = (struct set){(void *)entries.at, room - 1};
	for (size_t i = 0; i < nr; i++)
		if (entry[i])
			find(&s, entry[i])->at = entry[i];
	see_functions(&s, o, symbols);
	for (size_t i = 0; i < room; i++) {
		const struct entry *e = &s.entry[i];
		bool is_done;

		if (!e->at || !agent_is_wanted(e->nops ? e->nops : e->at))
			continue;
		is_done = e->nops && write_entry(o, (uint8_t *)e->nops);
		h->nr_patched += is_done;
		h->nr_unpatched += !is_done;
	}
}

static const ElfW(Shdr) *
    find_section(const struct pages *sections, const struct pages *names, const char *name)
{
	const ElfW(Shdr) *s = (const void *)sections->at;
	const size_t len = strlen(name) + 1;

	for (size_t i = 0; i < sections->bytes / sizeof(*s); i++)
		if (s[i].sh_name < names->bytes && names->bytes - s[i].sh_name >= len &&
		    memcmp(names->at + s[i].sh_name, name, len) == 0)
			return &s[i];
	return NULL;
}

/* --- sleds of XRay */

/* A sled has 11 bytes, and is at an even address: where a function begins or ends by a jump a jump
 * over NOPs, else its return and NOPs. Addresses are distances from their own word. */
struct sled {
	int64_t address, function;
	uint8_t kind, is_always, version, unused[13];
};
enum {
	SLED_BEGIN = 0,
	SLED_END = 1,
	SLED_END_BY_JUMP = 2,
	SLED_BEGIN_WITH_ARGUMENT = 3,
	SLED_BYTES = 11,
	SLED_VERSION = 2,
	MAX_SLEDS = 1 << 21,
};

static uint8_t *place_of(const struct sled *s)
{
	return (uint8_t *)((uintptr_t)&s->address + (uintptr_t)s->address);
}

static bool write_sled(struct object *o, const struct sled *s, unsigned kind)
{
	uint8_t end[SLED_BYTES] = {[CALL_BYTES] = 0xc3, 0x0f, 0x1f, 0x44, 0, 0},
		begin[SLED_BYTES] = {[CALL_BYTES] = 0x66, 0x0f, 0x1f, 0x44, 0, 0},
		*at = place_of(s);

	if (room_of(o, at) < SLED_BYTES)
		return false;
	if (kind == SLED_END)
		return at[0] == 0xc3 && nops_length(at + 1, 10, 10) == 10 &&
		       write_call(o, at, STUB_END, end, SLED_BYTES);
	return at[0] == 0xeb && at[1] == 9 && nops_length(at + 2, 9, 9) == 9 &&
	       write_call(o, at, kind == SLED_END_BY_JUMP ? STUB_END : STUB_BEGIN, begin,
			  SLED_BYTES);
}

static bool is_end(const struct sled *s)
{
	return s->kind == SLED_END || s->kind == SLED_END_BY_JUMP;
}

static bool is_begin(const struct sled *s)
{
	return s->kind == SLED_BEGIN || s->kind == SLED_BEGIN_WITH_ARGUMENT;
}

static bool is_wanted(const struct sled *s)
{
	return s->version == SLED_VERSION && agent_is_wanted((uintptr_t)place_of(s));
}

/* The ends of functions first: a beginning without its end would remain in progress. */
static void write_sleds(struct object *o, const struct sled *sled, size_t nr)
{
	struct functions_header *h = agent.shared;
	bool has_ends = true;

	for (size_t i = 0; i < nr; i++)
		if (is_end(&sled[i]) && is_wanted(&sled[i]))
			has_ends &= write_sled(o, &sled[i], sled[i].kind);
	for (size_t i = 0; i < nr; i++) {
		bool is_done;

		if (!is_begin(&sled[i]) || !is_wanted(&sled[i]))
			continue;
		is_done = has_ends && write_sled(o, &sled[i], SLED_BEGIN);
		h->nr_patched += is_done;
		h->nr_unpatched += !is_done;
	}
}

/* --- files */

static bool is_ready(void)
{
	return agent_is_ready(&agent_local) || agent_attach(&agent_local);
}

/* The section as it is loaded. NULL: it is not. */
static const void *find_loaded(const struct object *o, const struct pages *sections,
			       const struct pages *names, const char *name, uint64_t most,
			       size_t *bytes)
{
	const ElfW(Shdr) *s = find_section(sections, names, name);

	if (!s || s->sh_size > most || !find_segment(o, o->base + s->sh_addr, s->sh_size, PF_R))
		return NULL;
	*bytes = s->sh_size;
	return (const void *)(o->base + s->sh_addr);
}

static void patch_file(struct object *o, int fd)
{
	const ElfW(Shdr) * table;
	const void *found;
	ElfW(Ehdr) head;
	size_t bytes;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(*table) ||
	    head.e_shstrndx >= head.e_shnum)
		return;
	PAGES_AUTO sections =
	    load(fd, head.e_shoff, head.e_shnum * sizeof(*table), MAX_SECTIONS * sizeof(*table));
	if (!sections.at)
		return;
	table = (const ElfW(Shdr) *)(void *)sections.at + head.e_shstrndx;
	PAGES_AUTO names = load(fd, table->sh_offset, table->sh_size, MAX_NAMES);
	if (!names.at)
		return;
	found = find_loaded(o, &sections, &names, "__patchable_function_entries",
			    MAX_ENTRIES * sizeof(uintptr_t), &bytes);
	if (found && is_ready()) {
		table = find_section(&sections, &names, ".symtab");
		PAGES_AUTO symbols = table ? load(fd, table->sh_offset, table->sh_size,
						  MAX_SYMBOLS * sizeof(ElfW(Sym)))
					   : (struct pages){NULL, 0};
		write_calls(o, found, bytes / sizeof(uintptr_t), &symbols);
	}
	found = find_loaded(o, &sections, &names, "xray_instr_map", MAX_SLEDS * sizeof(struct sled),
			    &bytes);
	if (found && is_ready())
		write_sleds(o, found, bytes / sizeof(struct sled));
}

static int patch_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct object o = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, NULL};
	const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	int fd;

	(void)bytes;
	(void)arg;
	if (path[0] != '/') /* the vdso */
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	patch_file(&o, fd);
	close(fd);
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	int error = errno;

	const char *value = getenv("CPUPERF_FUNCTIONS");

	if (!value)
		agent.is_off = 1;
	else if (!&__libc_single_threaded || __libc_single_threaded)
		dl_iterate_phdr(patch_object, NULL);
	if (value && *value && value[strlen(value) - 1] == '+')
		agent_place_all();
	errno = error;
}

#endif
