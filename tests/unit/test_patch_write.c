/*
 * In which order bytes are written, and what is left after each failure. With threads, and real
 * code: test_patch_run.c.
 */
#include "kit.h"

#include "patch/write.h"

#include <sys/mman.h>

enum { LEN = 64, MAX_LOG = 32, FIRST = 3, SECOND = 22, PROT = PROT_READ | PROT_EXEC };

static _Alignas(16) uint8_t text[LEN];
static uint8_t seen[MAX_LOG][LEN];
static int prots[MAX_LOG];
static size_t nr_protected, nr_fetched, fails_at;
static int failure;

static int fake_protect(void *arg, uint64_t address, uint64_t len, int prot)
{
	(void)arg;
	assert_int_equal(address, (uint64_t)(uintptr_t)text);
	assert_int_equal(len, LEN);
	prots[nr_protected++] = prot;
	return nr_protected == fails_at ? failure : 0;
}

static int fake_fetch(void *arg)
{
	(void)arg;
	memcpy(seen[nr_fetched++], text, LEN);
	return fails_at == 0 ? failure : 0;
}

static const struct patch_system fake = {fake_protect, fake_fetch, NULL};

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)text + offset;
}

static struct patch_site sites[2];
static struct patch_text whole;

HOOK(before_each)
{
	static const struct patch_site init = {
	    .len = 5, .old = {1, 2, 3, 4, 5}, .new = {0xe9, 0x12, 0x13, 0x14, 0x15}};

	memset(text, 0x90, LEN);
	memcpy(text + FIRST, init.old, 5);
	memcpy(text + SECOND, init.old, 5);
	sites[0] = sites[1] = init;
	sites[0].address = at(FIRST);
	sites[1].address = at(SECOND);
	sites[0].instead = 0x1111;
	sites[1].instead = 0x2222;
	sites[1].returns_to = 0x3333;
	whole = (struct patch_text){at(0), LEN, PROT};
	nr_protected = nr_fetched = 0;
	fails_at = SIZE_MAX;
	failure = 0;
}

static int write_both(bool undo, enum patch_way way)
{
	return patch_write(&fake, &whole, sites, 2, undo, way);
}

static void require(const uint8_t *now, size_t offset, const uint8_t (*wanted)[5])
{
	assert_memory_equal(now + offset, *wanted, 5);
	assert_int_equal(now[offset - 1], 0x90);
	assert_int_equal(now[offset + 5], 0x90);
}

TEST(order)
{
	static const uint8_t steps[][5] = {{1, 2, 3, 4, 5},
					   {0xcc, 2, 3, 4, 5},
					   {0xcc, 0x12, 0x13, 0x14, 0x15},
					   {0xe9, 0x12, 0x13, 0x14, 0x15},
					   /* and back */
					   {0xe9, 0x12, 0x13, 0x14, 0x15},
					   {0xcc, 0x12, 0x13, 0x14, 0x15},
					   {0xcc, 2, 3, 4, 5},
					   {1, 2, 3, 4, 5}};

	assert_int_equal(write_both(false, PATCH_BY_TRAP), 0);
	assert_int_equal(write_both(true, PATCH_BY_TRAP), 0);
	assert_int_equal(nr_fetched, NR(steps));
	for (size_t i = 0; i < NR(steps); i++) {
		require(seen[i], FIRST, &steps[i]);
		require(seen[i], SECOND, &steps[i]);
	}
	assert_int_equal(nr_protected, 4);
	for (size_t i = 0; i < nr_protected; i++)
		assert_int_equal(prots[i], i & 1 ? PROT : PROT | PROT_WRITE);
}

#ifdef __x86_64__ /* elsewhere, one store has 8 bytes */
TEST(at_once)
{
	assert_int_equal(write_both(false, PATCH_AT_ONCE), 0);
	require(text, FIRST, &(const uint8_t[5]){0xe9, 0x12, 0x13, 0x14, 0x15});
	require(text, SECOND, &(const uint8_t[5]){0xe9, 0x12, 0x13, 0x14, 0x15});
	assert_int_equal(nr_fetched, 0);
	assert_int_equal(write_both(true, PATCH_AT_ONCE), 0);
	require(text, SECOND, &(const uint8_t[5]){1, 2, 3, 4, 5});
}

#endif

/* Nothing is written, although the first site could be. */
static void require_nothing(int rc, int wanted, size_t nr_writable)
{
	assert_int_equal(rc, wanted);
	require(text, FIRST, &(const uint8_t[5]){1, 2, 3, 4, 5});
	assert_int_equal(nr_protected, nr_writable);
}

TEST(other_bytes)
{
	text[SECOND + 4]++;
	require_nothing(write_both(false, PATCH_BY_TRAP), -ESTALE, 0);
	text[SECOND + 4]--;
	require_nothing(write_both(true, PATCH_BY_TRAP), -ESTALE, 0); /* it is not written */
}

TEST(not_in_the_text)
{
	whole.len = SECOND + 4;
	require_nothing(write_both(false, PATCH_BY_TRAP), -ERANGE, 0);
}

TEST(not_within_one_store)
{
	memmove(text + 28, text + SECOND, 5);
	sites[1].address = at(28);
	require_nothing(write_both(false, PATCH_AT_ONCE), -ERANGE, 0);
	memset(text + FIRST + 5, 0x90, LEN - FIRST - 5);
	memcpy(text + 27, sites[1].old, 5);
	sites[1].address = at(27); /* up to the last byte of 8 and 16 */
	assert_int_equal(write_both(false, PATCH_AT_ONCE), 0);
}

TEST(not_permitted)
{
	fails_at = 1;
	failure = -EACCES;
	require_nothing(write_both(false, PATCH_BY_TRAP), -EACCES, 1);
}

TEST(no_membarrier)
{
	fails_at = 0;
	failure = -ENOSYS;
	require_nothing(write_both(false, PATCH_BY_TRAP), -ENOSYS, 0);
}

TEST(stays_writable)
{
	fails_at = 2;
	failure = -ENOMEM;
	assert_int_equal(write_both(false, PATCH_BY_TRAP), ENOMEM);
	require(text, FIRST, &(const uint8_t[5]){0xe9, 0x12, 0x13, 0x14, 0x15});
}

/* --- who meets an INT3 */

static uint64_t ips[MAX_LOG], sps[MAX_LOG];
static bool ours[MAX_LOG];
static uint64_t stack[4];

static int trap_now(void *arg)
{
	const size_t *offset = arg;

	ips[nr_fetched] = at(*offset + 1);
	sps[nr_fetched] = (uint64_t)(uintptr_t)&stack[2];
	ours[nr_fetched] = patch_trapped(&ips[nr_fetched], &sps[nr_fetched]);
	nr_fetched++;
	return 0;
}

static void trap_at(size_t offset)
{
	const struct patch_system system = {fake_protect, trap_now, &offset};

	nr_fetched = nr_protected = 0;
	assert_int_equal(patch_write(&system, &whole, sites, 2, false, PATCH_BY_TRAP), 0);
	assert_int_equal(patch_write(&fake, &whole, sites, 2, true, PATCH_BY_TRAP), 0);
}

TEST(trapped)
{
	trap_at(FIRST);
	for (size_t i = 1; i <= 3; i++) {
		assert_true(ours[i]);
		assert_int_equal(ips[i], 0x1111);
		assert_int_equal(sps[i], (uint64_t)(uintptr_t)&stack[2]);
	}
	assert_true(ours[0]);
	assert_int_equal(ips[0], at(FIRST)); /* no INT3: again */
}

TEST(trapped_at_a_call)
{
	trap_at(SECOND);
	assert_true(ours[1]);
	assert_int_equal(ips[1], 0x2222);
	assert_int_equal(sps[1], (uint64_t)(uintptr_t)&stack[1]);
	assert_int_equal(stack[1], 0x3333);
}

TEST(int3_of_others)
{
	text[40] = 0xcc;
	trap_at(40);
	for (size_t i = 0; i < 4; i++) {
		assert_false(ours[i]);
		assert_int_equal(ips[i], at(41));
	}
	/* a debugger's, where a site was */
	text[FIRST] = 0xcc;
	ips[0] = at(FIRST + 1);
	assert_false(patch_trapped(&ips[0], &sps[0]));
}

#ifdef __x86_64__
/* Of the number and what is called. */
static bool is_in_hook(size_t at)
{
	return (at >= 8 && at < 12) || (at >= 22 && at < 30);
}

/* What was written is known again: whole, and of this plan alone. */
TEST(known_again)
{
	const struct patch_plan plans[] = {
	    {.address = 0x401000, .len = 5, .moved_len = 5, .old = {0x55, 0x48, 0x89, 0xe5, 0x90}},
	    {.address = 0x401000, .len = 5, .old = {0xe8, 1, 2, 3, 0}},
	    {.address = 0x401000, .len = 6, .old = {0xff, 0x15, 1, 2, 3, 0}},
	    {.address = 0x401000,
	     .len = 5,
	     .moved_len = 5,
	     .kind = PATCH_BEGINS,
	     .old = {0x55, 0x48, 0x89, 0xe5, 0x90}},
	    {.address = 0x401000,
	     .len = 5,
	     .kind = PATCH_BEGINS,
	     .depth = 8,
	     .old = {0xe8, 1, 2, 3, 0}},
	    {.address = 0x401000,
	     .len = 5,
	     .moved_len = 5,
	     .kind = PATCH_ENDS,
	     .old = {0x31, 0xc0, 0x31, 0xc9, 0xc3}}};
	const struct patch_counter counter = {.number = 77, .block = -64, .meet = 0x7f1234567890};

	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		uint8_t bytes[PATCH_SITE_BYTES] = {0}, code[PATCH_TRAMPOLINE_BYTES];
		struct patch_plan other = plans[i];
		struct patch_trampoline t;

		assert_int_equal(patch_move(&plans[i], &counter, 0x501000, &t), 0);
		memcpy(bytes, t.replacement, plans[i].len);
		memcpy(code, t.code, sizeof(code));
		assert_int_equal(patch_leads_to(&plans[i], bytes), 0x501000);
		assert_true(patch_is_moved(&plans[i], bytes, code, 0x501000));
		assert_false(patch_is_moved(&plans[i], bytes, code, 0x501001));
		bytes[0] = 0xcc;
		assert_false(patch_is_moved(&plans[i], bytes, code, 0x501000));
		bytes[0] = t.replacement[0];
		for (size_t k = 0; k < t.len; k++) {
			code[k] ^= 1;
			/* of the number, the block and what is called any is right, if all agree */
			if (patch_is_moved(&plans[i], bytes, code, 0x501000))
				assert_true(t.kind == PATCH_COUNTS
						? (k >= 11 && k < 15) || k > t.shared_at
						: is_in_hook(k - t.hook_at));
			code[k] ^= 1;
		}
		other.kind = (uint8_t)((other.kind + 1) % (PATCH_ENDS + 1));
		assert_false(patch_is_moved(&other, bytes, code, 0x501000));
		other = plans[i];
		other.depth += 8;
		assert_true(patch_is_moved(&other, bytes, code, 0x501000) ==
			    (t.kind == PATCH_COUNTS));
		other = plans[i];
		other.address++;
		assert_false(patch_is_moved(&other, bytes, code, 0x501000));
	}
	assert_int_equal(patch_leads_to(&plans[0], plans[0].old), 0);
}
#endif
