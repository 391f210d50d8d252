/*
 * Functions that begin with NOPs (-fpatchable-function-entry=N, N of 5 at least): before the
 * program's first line they become calls of agent_entry.
 *
 * Where they are is said by the section __patchable_function_entries. With M, a number of NOPs
 * before a function's label, it names an address from which nobody comes by a call, and the label
 * may lie within the 5 bytes. So a place is written only if a symbol says that a function begins
 * there, and if all that is written over is NOPs. Else it remains as it is, and is counted.
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

static const char section_name[] = "__patchable_function_entries";

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
	const char *stub; /* a jump to agent_entry that its calls can reach; NULL: none yet */
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

/* How many bytes of whole NOPs there are, CALL_BYTES or a few more; 0: not as many. */
static size_t nops_length(const uint8_t *at, size_t room)
{
	size_t sum = 0, len;

	while (sum < CALL_BYTES) {
		len = nop_length(at + sum, room - sum);
		if (!len)
			return 0;
		sum += len;
	}
	return sum;
}

/* A page with a jump, below or above the object. */
static const char *make_stub(uintptr_t near)
{
	static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* to the address behind it */
	const uint64_t target = (uintptr_t)agent_entry;
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
			memcpy(at, jump, sizeof(jump));
			memcpy(at + sizeof(jump), &target, sizeof(target));
			if (mprotect(at, STUB_BYTES, PROT_READ | PROT_EXEC) == 0)
				return at;
		}
		munmap(at, STUB_BYTES);
	}
	return NULL;
}

/* Its pages remain executable meanwhile: where that is forbidden nothing is written. */
static bool write_call(struct object *o, uint8_t *at)
{
	const ElfW(Phdr) *segment = find_segment(o, (uintptr_t)at, CALL_BYTES, PF_R | PF_X);
	size_t len, bytes;
	uint8_t *page;
	int64_t distance;
	int32_t near;

	if (!segment || segment->p_flags & PF_W)
		return false;
	len = nops_length(at, o->base + segment->p_vaddr + segment->p_filesz - (uintptr_t)at);
	if (!len || (!o->stub && !(o->stub = make_stub((uintptr_t)at))))
		return false;
	distance = (intptr_t)o->stub - ((intptr_t)at + CALL_BYTES);
	near = (int32_t)distance;
	if (near != distance)
		return false;
	page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)4095);
	bytes = (size_t)(at + len - page);
	if (mprotect(page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	at[0] = 0xe8;
	memcpy(at + 1, &near, sizeof(near));
	memset(at + CALL_BYTES, 0x90, len - CALL_BYTES);
	(void)mprotect(page, bytes, PROT_READ | PROT_EXEC);
	return true;
}

/* --- which places */

/* A set of addresses. */
struct set {
	uintptr_t *place;
	bool *is_function; /* of each place */
	size_t mask;
};

static uintptr_t *find(const struct set *s, uintptr_t address)
{
	size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) & s->mask;

	while (s->place[at] && s->place[at] != address)
		at = (at + 1) & s->mask;
	return &s->place[at];
}

/* A function also begins there if a landing pad is all that is before the NOPs. */
static void see_function(const struct set *s, const struct object *o, uintptr_t address)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uintptr_t *at = find(s, address);

	if (!*at && find_segment(o, address, sizeof(endbr), PF_R | PF_X) &&
	    memcmp((const void *)address, endbr, sizeof(endbr)) == 0)
		at = find(s, address + sizeof(endbr));
	if (*at)
		s->is_function[at - s->place] = true;
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
	uint32_t done = 0;
	struct set s;

	while (room < 2 * nr)
		room *= 2;
	PAGES_AUTO places = get_pages(room * (sizeof(*s.place) + sizeof(*s.is_function)));
	s = (struct set){(void *)places.at, (void *)(places.at + room * sizeof(*s.place)),
			 room - 1};
	for (size_t i = 0; places.at && i < nr; i++)
		if (entry[i])
			*find(&s, entry[i]) = entry[i];
	if (places.at)
		see_functions(&s, o, symbols);
	for (size_t i = 0; places.at && i < room; i++)
		done += s.is_function[i] && write_call(o, (uint8_t *)s.place[i]);
	h->nr_patched += done;
	h->nr_unpatched += (uint32_t)nr - done;
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

static void patch_file(struct object *o, int fd)
{
	const ElfW(Shdr) * entries, *table;
	ElfW(Ehdr) head;
	size_t bytes;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(*entries) ||
	    head.e_shstrndx >= head.e_shnum)
		return;
	PAGES_AUTO sections = load(fd, head.e_shoff, head.e_shnum * sizeof(*entries),
				   MAX_SECTIONS * sizeof(*entries));
	if (!sections.at)
		return;
	table = (const ElfW(Shdr) *)(void *)sections.at + head.e_shstrndx;
	PAGES_AUTO names = load(fd, table->sh_offset, table->sh_size, MAX_NAMES);
	entries = names.at ? find_section(&sections, &names, section_name) : NULL;
	if (!entries)
		return;
	bytes = entries->sh_size;
	if (bytes > MAX_ENTRIES * sizeof(uintptr_t) ||
	    !find_segment(o, o->base + entries->sh_addr, bytes, PF_R))
		return;
	table = find_section(&sections, &names, ".symtab");
	PAGES_AUTO symbols =
	    table ? load(fd, table->sh_offset, table->sh_size, MAX_SYMBOLS * sizeof(ElfW(Sym)))
		  : (struct pages){NULL, 0};
	if (agent_is_ready(&agent_local) || agent_attach(&agent_local))
		write_calls(o, (const void *)(o->base + entries->sh_addr),
			    bytes / sizeof(uintptr_t), &symbols);
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

	if (!getenv("CPUPERF_FUNCTIONS"))
		agent.is_off = 1;
	else if (!&__libc_single_threaded || __libc_single_threaded)
		dl_iterate_phdr(patch_object, NULL);
	errno = error;
}

#endif
