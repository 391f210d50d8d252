#include "patch/write.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	INT3 = 0xcc,
	MAX_TRIES = 1000,
#ifdef __x86_64__
	MAX_STORE = 16,
#else
	MAX_STORE = 8,
#endif
};

void patch_site_init(struct patch_site *s, const struct patch_plan *plan,
		     const struct patch_trampoline *t)
{
	*s = (struct patch_site){.address = plan->address, .instead = t->address, .len = plan->len};
	if (!plan->moved_len)
		s->returns_to = plan->address + plan->len;
	memcpy(s->old, plan->old, plan->len);
	memcpy(s->new, t->replacement, plan->len);
}

/* --- what is being written, for handlers */

/* Odd while sites have an INT3. */
static uint64_t turn;
static const struct patch_site *written;
static size_t nr_written;

static void publish(const struct patch_site *sites, size_t nr)
{
	__atomic_store_n(&nr_written, 0, __ATOMIC_SEQ_CST); /* of both, the smaller array */
	__atomic_store_n(&written, sites, __ATOMIC_SEQ_CST);
	__atomic_store_n(&nr_written, nr, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
}

static void withdraw(void)
{
	__atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
}

/* The site, copied: the array may be replaced by another at any time. */
static bool find_site(uint64_t address, struct patch_site *out)
{
	size_t low = 0, high = __atomic_load_n(&nr_written, __ATOMIC_SEQ_CST);
	const struct patch_site *sites = __atomic_load_n(&written, __ATOMIC_SEQ_CST);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		*out = sites[middle];
		if (out->address == address)
			return true;
		if (out->address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool patch_trapped(uint64_t *ip, uint64_t *sp)
{
	const uint64_t address = *ip - 1;
	struct patch_site site;
	uint64_t before;
	uint8_t byte;
	bool is_ours;

	do {
		before = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
		is_ours = before & 1 && find_site(address, &site);
		byte = __atomic_load_n((const uint8_t *)(uintptr_t)address, __ATOMIC_SEQ_CST);
	} while (before != __atomic_load_n(&turn, __ATOMIC_SEQ_CST));
	if (!is_ours && byte == INT3)
		return false;
	*ip = is_ours ? site.instead : address;
	if (is_ours && site.returns_to) {
		*sp -= sizeof(site.returns_to);
		memcpy((void *)(uintptr_t)*sp, &site.returns_to, sizeof(site.returns_to));
	}
	return true;
}

/* --- writing */

static uint8_t *bytes_at(uint64_t address)
{
	return (uint8_t *)(uintptr_t)address;
}

static const uint8_t *wanted(const struct patch_site *s, bool undo)
{
	return undo ? s->old : s->new;
}

static void write_byte(uint64_t address, uint8_t byte)
{
	__atomic_store_n(bytes_at(address), byte, __ATOMIC_SEQ_CST);
}

/* After the first byte was written. Failure comes of short memory and passes; if it does not, the
 * next change of a mapping has the same effect. */
static void fetch_anew(const struct patch_system *system)
{
	for (int i = 0; i < MAX_TRIES && system->fetch_anew(system->arg) < 0; i++)
		;
}

static void write_by_trap(const struct patch_system *system, const struct patch_site *sites,
			  size_t nr, bool undo)
{
	publish(sites, nr);
	for (size_t i = 0; i < nr; i++)
		write_byte(sites[i].address, INT3);
	fetch_anew(system);
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 1; k < sites[i].len; k++)
			write_byte(sites[i].address + k, wanted(&sites[i], undo)[k]);
	fetch_anew(system);
	for (size_t i = 0; i < nr; i++)
		write_byte(sites[i].address, wanted(&sites[i], undo)[0]);
	fetch_anew(system);
	withdraw();
}

/* The size of the aligned store that has the whole site; 0: none. */
static uint64_t store_len(const struct patch_site *s)
{
	for (uint64_t len = 8; len <= MAX_STORE; len *= 2)
		if (s->address % len + s->len <= len)
			return len;
	return 0;
}

static bool store_8(uint64_t *at, uint64_t before, uint64_t after)
{
	return __atomic_compare_exchange_n(at, &before, after, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool store_16(uint64_t *at, const uint64_t before[2], const uint64_t after[2])
{
	bool done = false;
#ifdef __x86_64__
	uint64_t low = before[0], high = before[1];

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(unsigned __int128 *)at), "+a"(low), "+d"(high)
			 : "b"(after[0]), "c"(after[1])
			 : "memory");
#else
	(void)at, (void)before, (void)after;
#endif
	return done;
}

static void write_at_once(const struct patch_site *s, bool undo)
{
	const uint64_t len = store_len(s), offset = s->address % len;
	uint64_t *at = (uint64_t *)(uintptr_t)(s->address - offset);
	uint64_t before[2], after[2];
	bool done = false;

	while (!done) { /* a debugger may write beside it */
		memcpy(before, at, len);
		memcpy(after, before, len);
		memcpy((uint8_t *)after + offset, wanted(s, undo), s->len);
		done = len == 8 ? store_8(at, before[0], after[0]) : store_16(at, before, after);
	}
}

/* --- the whole */

static int check_site(const struct patch_text *text, const struct patch_site *s, bool undo,
		      enum patch_way way)
{
	if (s->address < text->address || s->len > PATCH_SITE_BYTES ||
	    s->address + s->len > text->address + text->len)
		return -ERANGE;
	if (way == PATCH_AT_ONCE && !store_len(s))
		return -ERANGE;
	return memcmp(bytes_at(s->address), wanted(s, !undo), s->len) == 0 ? 0 : -ESTALE;
}

int patch_write(const struct patch_system *system, const struct patch_text *text,
		const struct patch_site *sites, size_t nr, bool undo, enum patch_way way)
{
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = check_site(text, &sites[i], undo, way);
	if (rc == 0 && way == PATCH_BY_TRAP)
		rc = system->fetch_anew(system->arg);
	if (rc == 0)
		rc =
		    system->protect(system->arg, text->address, text->len, text->prot | PROT_WRITE);
	if (rc < 0)
		return rc;
	if (way == PATCH_BY_TRAP)
		write_by_trap(system, sites, nr, undo);
	for (size_t i = 0; i < nr && way == PATCH_AT_ONCE; i++)
		write_at_once(&sites[i], undo);
	return -system->protect(system->arg, text->address, text->len, text->prot);
}

/* --- system calls */

#ifdef __x86_64__
#include <linux/membarrier.h>
#include <sys/syscall.h>

static long call(long number, uint64_t a, uint64_t b, uint64_t c)
{
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return rc;
}

static int call_mprotect(void *arg, uint64_t address, uint64_t len, int prot)
{
	(void)arg;
	return (int)call(SYS_mprotect, address, len, (uint64_t)prot);
}

static int call_membarrier(void *arg)
{
	const uint64_t sync = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
	long rc = call(SYS_membarrier, sync, 0, 0);

	(void)arg;
	if (rc == -EPERM) { /* it is not registered yet, or not by this process */
		call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
		rc = call(SYS_membarrier, sync, 0, 0);
	}
	return rc == -EINVAL ? -ENOSYS : (int)rc;
}
#else
static int call_mprotect(void *arg, uint64_t address, uint64_t len, int prot)
{
	(void)arg, (void)address, (void)len, (void)prot;
	return -ENOSYS;
}

static int call_membarrier(void *arg)
{
	(void)arg;
	return -ENOSYS;
}
#endif

const struct patch_system patch_calls = {.protect = call_mprotect, .fetch_anew = call_membarrier};
