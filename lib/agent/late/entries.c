/*
 * The loader's lock is held where objects are looked at (`locked`), so that none is half loaded. An
 * indirect function is resolved by dlsym under that lock: its resolver does what is to be done.
 */
#include "agent/late/entries.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT, POINTER = R_X86_64_64 };
#else
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT, POINTER = R_AARCH64_ABS64 };
#endif

enum {
	MAX_HOOKS = 512,
	NR_PLACES = 1024, /* of hooks by their names; a power of 2 */
	MAX_OBJECTS = 4096,
	MAX_ENTRIES = 1 << 18,
	MAX_MAPPINGS = 1 << 16,
	TEXT_BYTES = 64 << 10,
};

struct hook {
	const char *name;
	uint64_t own, real;
	unsigned order;
};

/* A word of an object. */
struct entry {
	uint64_t *at;
	uint64_t before, own;
	uint32_t object;
};

struct object {
	const ElfW(Dyn) * dynamic; /* NULL: unloaded */
	uint64_t base;
	bool is_seen;
};

struct mapping {
	uint64_t start, end;
	int prot;
};

static struct {
	struct hook hook[MAX_HOOKS];
	uint16_t place[NR_PLACES]; /* 1 + its number */
	uint32_t nr_hooks;
	struct object *object; /* of pages that exist when they are written, like those below */
	struct entry *entry;
	struct mapping *mapping;
	char *text;
	uint32_t nr_objects, nr_entries, nr_mappings;
	void (*loaded)(bool is_later);
	bool is_on, is_late; /* is_late: a new object may not have been looked at yet */
} all;

/* For the recorder, which reads it. Another agent may be in front of this one, so nothing here is
 * reached by a name that both have. */
static struct agent_answer last_answer;
extern struct agent_answer cpuperf_agent_answer
    __attribute__((visibility("default"), alias("last_answer")));

__attribute__((visibility("default"))) void cpuperf_agent_attach(uint32_t number, uint64_t blocked);
__attribute__((visibility("default"))) void cpuperf_agent_detach(void);

/* --- with the loader's lock */

/* Volatile: the compiler takes dlsym for a function that does not come back here. */
static __thread void (*volatile to_do)(void);

/* The loader calls this, with its lock held, where dlsym finds an indirect function. Used: the
 * attribute ifunc names it by a string alone. */
__attribute__((used)) static void (*resolve(void))(void)
{
	void (*now)(void) = to_do;

	to_do = NULL;
	if (now)
		now();
	return cpuperf_agent_detach;
}

#define LOCKED "cpuperf_" AGENT_NAME "_locked"
__attribute__((visibility("default"))) void its_locked(void) __asm__(LOCKED)
    __attribute__((ifunc("resolve")));

static void locked(void (*run)(void))
{
	to_do = run;
	(void)dlsym(RTLD_DEFAULT, LOCKED);
	to_do = NULL;
}

/* --- the functions that are measured */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static uint32_t place_of(const char *name)
{
	uint32_t h = hash_of(name);

	return (h ^ h >> 10) & (NR_PLACES - 1);
}

static const struct hook *find_hook(const char *name)
{
	for (uint32_t i = place_of(name); all.place[i]; i = (i + 1) & (NR_PLACES - 1))
		if (strcmp(all.hook[all.place[i] - 1].name, name) == 0)
			return &all.hook[all.place[i] - 1];
	return NULL;
}

void agent_entries_add(const char *name, uint64_t own, uint64_t real, unsigned order)
{
	uint32_t i = place_of(name);

	if (!real || real == own || all.nr_hooks == MAX_HOOKS)
		return;
	while (all.place[i])
		i = (i + 1) & (NR_PLACES - 1);
	all.hook[all.nr_hooks] = (struct hook){name, own, real, order};
	all.place[i] = (uint16_t)++all.nr_hooks;
}

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
	const ElfW(Rela) * rela[2];
	size_t nr_rela[2];
};

static const void *at(uint64_t base, uint64_t address)
{
	return (const void *)(address < base ? base + address : address);
}

static struct tables tables_of(uint64_t base, const ElfW(Dyn) * d)
{
	struct tables t = {0};
	bool has_rela = false;

	for (; d && d->d_tag != DT_NULL; d++) {
		const void *p = at(base, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB:
			t.symbols = p;
			break;
		case DT_STRTAB:
			t.strings = p;
			break;
		case DT_GNU_HASH:
			t.hash = p;
			break;
		case DT_RELA:
			t.rela[0] = p;
			break;
		case DT_RELASZ:
			t.nr_rela[0] = d->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_JMPREL:
			t.rela[1] = p;
			break;
		case DT_PLTRELSZ:
			t.nr_rela[1] = d->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_PLTREL:
			has_rela = d->d_un.d_val == DT_RELA;
			break;
		default:
			break;
		}
	}
	if (!has_rela)
		t.nr_rela[1] = 0;
	return t;
}

/* The number of symbols: the table of hashes ends with the last one. */
static uint32_t count_symbols(const uint32_t *hash)
{
	uint32_t nr_buckets = hash[0], first = hash[1], last = 0;
	const uint32_t *bucket = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + nr_buckets;

	for (uint32_t i = 0; i < nr_buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static uint64_t own_base(void)
{
	Dl_info of;

	return dladdr((const void *)_DYNAMIC, &of) ? (uint64_t)of.dli_fbase : 0;
}

/* --- what stands behind them */

/* The function that the object defines. */
static const ElfW(Sym) * find_symbol(const struct tables *t, const char *name)
{
	const uint32_t nr_buckets = t->hash[0], first = t->hash[1], hash = hash_of(name);
	const uint32_t *bucket = t->hash + 4 + t->hash[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + nr_buckets;
	uint32_t i = nr_buckets ? bucket[hash % nr_buckets] : 0;

	for (; i >= first && i; i++) {
		const ElfW(Sym) *s = &t->symbols[i];

		if ((chain[i - first] | 1) == (hash | 1) && s->st_shndx &&
		    ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
		    strcmp(t->strings + s->st_name, name) == 0)
			return s;
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

struct wanted {
	const char *name;
	uint64_t found;
};

static int look_for_symbol(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Dyn) *dynamic = dynamic_of(info);
	const struct tables t = tables_of(info->dlpi_addr, dynamic);
	struct wanted *w = arg;
	const ElfW(Sym) *s = NULL;

	(void)size;
	if (dynamic != _DYNAMIC && info->dlpi_addr != getauxval(AT_BASE) && t.hash && t.symbols)
		s = find_symbol(&t, w->name);
	if (s)
		w->found = info->dlpi_addr + s->st_value;
	return s != NULL;
}

/* The function itself, to pass calls on to. A program at a fixed address that uses the address of a
 * function has a place for it, which calls the function by its entry, and which dlsym and all
 * others take for the function: from there the call would come back to us. */
void *agent_find_beside(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);
	struct wanted w = {.name = name};
	const ElfW(Sym) *s = NULL;
	Dl_info of;

	if (!p || !dladdr1(p, &of, (void **)&s, RTLD_DL_SYMENT) || !s || s->st_shndx)
		return p;
	(void)dl_iterate_phdr(look_for_symbol, &w);
	return (void *)w.found;
}

enum { OURS = 1, LIBC = 2 };

static int find_first(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (uint64_t)_DYNAMIC - start < p->p_memsz)
			return OURS;
		if (p->p_type == PT_LOAD && *(const uint64_t *)arg - start < p->p_memsz)
			return LIBC;
	}
	return 0;
}

/* What is preloaded comes before the C library, what dlopen loads behind it. */
bool agent_is_preloaded(void)
{
	uint64_t of_libc = (uint64_t)dlsym(RTLD_NEXT, "getauxval");

	return dl_iterate_phdr(find_first, &of_libc) == OURS;
}

/* --- dlopen: the objects that it loads */

static void *(*real_dlopen)(const char *path, int flags);
static void *(*real_dlsym)(void *handle, const char *name);

static void look_again(void);

void agent_look_at_objects(void)
{
	int error = errno;

	if (__atomic_load_n(&all.is_on, __ATOMIC_ACQUIRE))
		locked(look_again);
	errno = error;
}

static void tell_loaded(bool is_later)
{
	if (all.loaded && __atomic_load_n(&all.is_on, __ATOMIC_ACQUIRE))
		all.loaded(is_later);
}

/* Where the caller matters to the loader (it searches by its paths), it must be the program: then
 * what is loaded is looked at before the first function of it is looked up. */
static void *hook_dlopen(const char *path, int flags)
{
	void *handle;

	if (!path || !strchr(path, '/') || strchr(path, '$')) {
		__atomic_store_n(&all.is_late, true, __ATOMIC_RELEASE);
		tell_loaded(true);
		return real_dlopen(path, flags);
	}
	handle = real_dlopen(path, flags);
	if (handle) {
		agent_look_at_objects();
		tell_loaded(false);
	}
	return handle;
}

/* The caller matters here, too. */
static void *hook_dlsym(void *handle, const char *name)
{
	if (__atomic_exchange_n(&all.is_late, false, __ATOMIC_ACQ_REL))
		agent_look_at_objects();
	return real_dlsym(handle, name);
}

void agent_entries_add_own(unsigned (*order_of)(const char *name))
{
	const uint64_t base = own_base();
	const struct tables t = tables_of(base, _DYNAMIC);
	const uint32_t nr = t.hash && t.symbols && t.strings ? count_symbols(t.hash) : 0;

	for (uint32_t i = 0; i < nr; i++) {
		const ElfW(Sym) *s = &t.symbols[i];
		const char *name = t.strings + s->st_name;
		const bool is_function = s->st_shndx && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
					 strncmp(name, "cpuperf_", 8) != 0;
		const unsigned order = is_function ? order_of(name) : AGENT_NR_ORDERS;

		if (order < AGENT_NR_ORDERS)
			agent_entries_add(name, base + s->st_value,
					  (uint64_t)agent_find_beside(name), order);
	}
}

void agent_entries_add_loading(unsigned order, void (*loaded)(bool is_later))
{
	void *p = agent_find_beside("dlopen");

	all.loaded = loaded;
	memcpy(&real_dlopen, &p, sizeof(p));
	agent_entries_add("dlopen", (uint64_t)hook_dlopen, (uint64_t)p, order);
	p = agent_find_beside("dlsym");
	memcpy(&real_dlsym, &p, sizeof(p));
	agent_entries_add("dlsym", (uint64_t)hook_dlsym, (uint64_t)p, order);
}

/* --- what may be written */

static const char *parse_hex(const char *text, uint64_t *out)
{
	for (*out = 0;; text++) {
		if (*text >= '0' && *text <= '9')
			*out = *out << 4 | (uint64_t)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			*out = *out << 4 | (uint64_t)(*text - 'a' + 10);
		else
			return text;
	}
}

/* "7f…-7f… r--p …" */
static void parse_mapping(const char *line)
{
	struct mapping *m = &all.mapping[all.nr_mappings];
	const char *text = parse_hex(line, &m->start);

	if (*text++ != '-' || all.nr_mappings == MAX_MAPPINGS)
		return;
	text = parse_hex(text, &m->end);
	if (*text++ != ' ')
		return;
	m->prot = (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
		  (text[2] == 'x' ? PROT_EXEC : 0);
	all.nr_mappings++;
}

static void load_mappings(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	long got;

	all.nr_mappings = 0;
	if (fd < 0)
		return;
	while ((got = syscall(SYS_read, fd, all.text + len, TEXT_BYTES - 1 - len)) > 0) {
		char *line = all.text, *end;

		len += (size_t)got;
		all.text[len] = '\0';
		while ((end = memchr(line, '\n', len - (size_t)(line - all.text)))) {
			parse_mapping(line);
			line = end + 1;
		}
		len -= (size_t)(line - all.text);
		memmove(all.text, line, len);
	}
	(void)syscall(SYS_close, fd);
}

static const struct mapping *find_mapping(uint64_t address)
{
	uint32_t lo = 0, hi = all.nr_mappings;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (all.mapping[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < all.nr_mappings && all.mapping[lo].start <= address ? &all.mapping[lo] : NULL;
}

/* Pages that are read only after relocation (RELRO) are written in a moment in which they may be.
 */
static bool set_word(uint64_t *to, uint64_t from, uint64_t value)
{
	const struct mapping *m = find_mapping((uint64_t)to);
	const size_t page = getauxval(AT_PAGESZ);
	void *begin = (void *)((uint64_t)to & ~(page - 1));
	bool is_set;

	if (!m || !(m->prot & PROT_READ) || (m->prot & PROT_EXEC) || (uint64_t)to % 8)
		return false;
	if (!(m->prot & PROT_WRITE) && mprotect(begin, page, PROT_READ | PROT_WRITE))
		return false;
	is_set = __atomic_compare_exchange_n(to, &from, value, false, __ATOMIC_SEQ_CST,
					     __ATOMIC_RELAXED);
	if (!(m->prot & PROT_WRITE))
		(void)mprotect(begin, page, m->prot);
	return is_set;
}

/* --- entries */

struct looked {
	struct dl_phdr_info *info;
	struct tables tables;
	uint64_t start, end; /* of the object */
	uint32_t object;
	unsigned order;
};

static bool is_readable(uint64_t address)
{
	const struct mapping *m = find_mapping(address);

	return m && m->prot & PROT_READ;
}

/* True if the entry holds the function that ours passes on to, or will when it is resolved. */
static bool is_ours_to_take(const struct looked *l, uint32_t type, const ElfW(Sym) * s,
			    const struct hook *h, uint64_t value)
{
	if (value == h->real)
		return true;
	return type == JUMP_SLOT && value >= l->start && value < l->end &&
	       (!s->st_shndx || l->info->dlpi_addr + s->st_value == h->real);
}

static void look_at_entry(const struct looked *l, const ElfW(Rela) * r)
{
	const uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
	const ElfW(Sym) *s = &l->tables.symbols[ELF64_R_SYM(r->r_info)];
	uint64_t *to = (uint64_t *)(l->info->dlpi_addr + r->r_offset), value;
	const struct hook *h;

	if ((type != JUMP_SLOT && type != GLOB_DAT && type != POINTER) || !s->st_name)
		return;
	h = find_hook(l->tables.strings + s->st_name);
	if (!h || h->order != l->order || (type == POINTER && r->r_addend) ||
	    all.nr_entries == MAX_ENTRIES || !is_readable((uint64_t)to))
		return;
	value = __atomic_load_n(to, __ATOMIC_RELAXED);
	if (!is_ours_to_take(l, type, s, h, value) || !set_word(to, value, h->own))
		return;
	all.entry[all.nr_entries++] = (struct entry){to, value, h->own, l->object};
}

static void set_range(struct looked *l)
{
	l->start = UINT64_MAX;
	for (unsigned i = 0; i < l->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &l->info->dlpi_phdr[i];
		uint64_t start = l->info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		l->start = start < l->start ? start : l->start;
		l->end = start + p->p_memsz > l->end ? start + p->p_memsz : l->end;
	}
}

static struct object *find_object(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
	for (uint32_t i = 0; i < all.nr_objects; i++)
		if (all.object[i].dynamic == dynamic && all.object[i].base == info->dlpi_addr)
			return &all.object[i];
	return NULL;
}

/* One that was unloaded and is loaded again at its place has entries of its own. */
static bool is_renewed(uint32_t object)
{
	bool has_entries = false;

	for (uint32_t i = 0; i < all.nr_entries; i++) {
		const struct entry *e = &all.entry[i];

		if (e->object != object)
			continue;
		has_entries = true;
		if (is_readable((uint64_t)e->at) &&
		    __atomic_load_n(e->at, __ATOMIC_RELAXED) == e->own)
			return false;
	}
	return has_entries;
}

static void forget_entries(uint32_t object)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < all.nr_entries; i++)
		if (all.entry[i].object != object)
			all.entry[nr++] = all.entry[i];
	all.nr_entries = nr;
}

static struct object *take_object(void)
{
	for (uint32_t i = 0; i < all.nr_objects; i++)
		if (!all.object[i].dynamic)
			return &all.object[i];
	return all.nr_objects < MAX_OBJECTS ? &all.object[all.nr_objects++] : NULL;
}

struct pass {
	unsigned order;
	bool is_first; /* the first pass over all objects: it finds which of them are new */
};

/* An agent of cpuperf, also another one than this. */
static bool is_agent(const struct dl_phdr_info *info)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	return slash && strncmp(slash, "/libcpuperf-", 12) == 0;
}

/* Skips agents and the loader. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct pass *pass = arg;
	const ElfW(Dyn) *dynamic = dynamic_of(info);
	struct looked l = {.info = info, .order = pass->order};
	struct object *o;

	(void)size;
	if (!dynamic || dynamic == _DYNAMIC || is_agent(info) ||
	    info->dlpi_addr == getauxval(AT_BASE))
		return 0;
	o = find_object(info, dynamic);
	if (pass->is_first && o && is_renewed((uint32_t)(o - all.object))) {
		forget_entries((uint32_t)(o - all.object));
		o->is_seen = false;
	}
	if (!o && pass->is_first) {
		o = take_object();
		if (o)
			*o = (struct object){.dynamic = dynamic, .base = info->dlpi_addr};
	}
	if (!o)
		return 0;
	if (!o->is_seen) {
		l.object = (uint32_t)(o - all.object);
		l.tables = tables_of(info->dlpi_addr, dynamic);
		set_range(&l);
		for (int k = 0; k < 2; k++)
			for (size_t i = 0; l.tables.symbols && i < l.tables.nr_rela[k]; i++)
				look_at_entry(&l, &l.tables.rela[k][i]);
	}
	if (pass->order == AGENT_NR_ORDERS - 1)
		o->is_seen = true;
	return 0;
}

static int mark_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = find_object(info, dynamic_of(info));
	uint8_t *is_there = arg;

	(void)size;
	if (o)
		is_there[o - all.object] = 1;
	return 0;
}

static void forget_unloaded(void)
{
	static uint8_t is_there[MAX_OBJECTS];

	memset(is_there, 0, sizeof(is_there));
	(void)dl_iterate_phdr(mark_object, is_there);
	for (uint32_t i = 0; i < all.nr_objects; i++)
		if (all.object[i].dynamic && !is_there[i]) {
			forget_entries(i);
			all.object[i] = (struct object){0};
		}
}

static void look_again(void)
{
	if (!all.is_on)
		return;
	load_mappings();
	forget_unloaded();
	for (unsigned order = 0; order < AGENT_NR_ORDERS; order++) {
		struct pass pass = {order, order == 0};

		(void)dl_iterate_phdr(look_at_object, &pass);
	}
}

static void restore(void)
{
	load_mappings();
	forget_unloaded();
	for (uint32_t i = all.nr_entries; i-- > 0;) {
		const struct entry *e = &all.entry[i];

		if (is_readable((uint64_t)e->at) &&
		    __atomic_load_n(e->at, __ATOMIC_RELAXED) == e->own)
			(void)set_word(e->at, e->own, e->before);
	}
	all.nr_entries = all.nr_objects = 0;
}

/* --- the whole */

bool agent_entries_are_known(void)
{
	return all.nr_hooks > 0;
}

bool agent_entries_prepare(void)
{
	if (!all.object)
		all.object = agent_pages(MAX_OBJECTS * sizeof(*all.object));
	if (!all.entry)
		all.entry = agent_pages(MAX_ENTRIES * sizeof(*all.entry));
	if (!all.mapping)
		all.mapping = agent_pages((MAX_MAPPINGS + 1) * sizeof(*all.mapping));
	if (!all.text)
		all.text = agent_pages(TEXT_BYTES);
	return all.object && all.entry && all.mapping && all.text;
}

void agent_entries_begin(void)
{
	__atomic_store_n(&all.is_on, true, __ATOMIC_RELEASE);
	look_again();
}

void agent_entries_end(void)
{
	if (!all.is_on)
		return;
	__atomic_store_n(&all.is_on, false, __ATOMIC_RELEASE);
	restore();
}

/* --- the recorder's calls */

static __thread uint32_t its_number;
static __thread uint64_t its_blocked;

static void answer(int result)
{
	last_answer.result = result;
	last_answer.entries = all.nr_entries;
	last_answer.objects = all.nr_objects;
	__atomic_store_n(&last_answer.nr, last_answer.nr + 1, __ATOMIC_RELEASE);
}

static void attach(void)
{
	answer(agent_attached_begin(its_number, its_blocked));
}

static void detach(void)
{
	answer(agent_attached_end());
}

/* The thread may be one that is to be cancelled, with the loader's lock held. */
static void call(void (*run)(void))
{
	const int error = errno;
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	locked(run);
	(void)pthread_setcancelstate(state, &state);
	errno = error;
}

void cpuperf_agent_attach(uint32_t number, uint64_t blocked)
{
	its_number = number;
	its_blocked = blocked;
	call(attach);
}

void cpuperf_agent_detach(void)
{
	call(detach);
}
