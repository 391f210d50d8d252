/*
 * One CPU, a known number of instructions: counts must be exact, the same every time, and on the
 * right side of os and user. Whole sessions: plan, groups, boundary reads, differences.
 */
#include "kit.h"
#include "measured.h"

#include "base/mem.h"
#include "pmu/group.h"
#include "work.h"

#include <inttypes.h>

enum {
	TURNS = 1000000,
	CALLS = 20000,
	NR_SAME = 8,      /* rounds of the same work */
	OVERHEAD = 20000, /* our own instructions in an iteration: at most */
};

enum { ALL, USER, OS, CYCLES, USER_CYCLES, NR_EVENTS };

static const char spec[] =
    "{ \"events\": ["
    "{ \"group_name\": \"fixed\", \"event_name\": \"instructions_retired\" },"
    "{ \"group_name\": \"fixed\", \"event_name\": \"instructions_retired\","
    "  \"flags\": [\"user\"], \"label\": \"user\" },"
    "{ \"group_name\": \"fixed\", \"event_name\": \"instructions_retired\","
    "  \"flags\": [\"os\"], \"label\": \"os\" },"
    "{ \"group_name\": \"fixed\", \"event_name\": \"cycle_counter\" },"
    "{ \"group_name\": \"fixed\", \"event_name\": \"cycle_counter\","
    "  \"flags\": [\"user\"], \"label\": \"user_cycles\" } ] }";

/* Each work is done in NR_SAME rounds; the first two warm up (page faults, lazy binding). */
enum { LOOP = 2, LOOP_2, CALL, CALL_2, NOTHING, NR_WORKS };
static const struct {
	const char *name;
	void (*work)(uint64_t turns);
	uint64_t turns;
} works[NR_WORKS] = {
    {"warm", work_loop, TURNS},
    {"warm", work_calls, CALLS},
    [LOOP] = {"loop", work_loop, TURNS},
    [LOOP_2] = {"loop of 2", work_loop, 2 * TURNS},
    [CALL] = {"calls", work_calls, CALLS},
    [CALL_2] = {"calls of 2", work_calls, 2 * CALLS},
    [NOTHING] = {"nothing", work_loop, 0},
};

static uint64_t rounds[NR_WORKS * NR_SAME][NR_EVENTS];
static uint64_t counts[NR_WORKS][NR_EVENTS]; /* the least of the rounds */

/* Iteration i holds the work that was done after iteration i - 1. */
static int after_iteration(const struct session_iteration *it, void *arg)
{
	const struct session_trace *t = &it->traces[0];
	uint32_t work = it->iteration / NR_SAME;

	(void)arg;
	for (size_t i = 0; it->iteration && i < NR_EVENTS; i++) {
		assert_int_equal(t->end[i].state, READING_OK);
		rounds[it->iteration - 1][i] = t->end[i].raw - t->start[i].raw;
	}
	if (work < NR_WORKS)
		works[work].work(works[work].turns);
	return 0;
}

static uint64_t least(size_t work, size_t event)
{
	uint64_t min = UINT64_MAX;

	for (size_t r = work * NR_SAME; r < (work + 1) * NR_SAME; r++)
		min = rounds[r][event] < min ? rounds[r][event] : min;
	return min;
}

HOOK(before_all)
{
	measure(&(struct measured){.spec = spec,
				   .duration = "100ms",
				   .nr_iterations = NR_WORKS * NR_SAME + 1,
				   .on_iteration = after_iteration});
	for (size_t w = 0; w < NR_WORKS; w++) {
		for (size_t i = 0; i < NR_EVENTS; i++)
			counts[w][i] = least(w, i);
		printf("%s: %" PRIu64 " all, %" PRIu64 " user, %" PRIu64 " os, %" PRIu64
		       " cycles, %" PRIu64 " user cycles\n",
		       works[w].name, counts[w][ALL], counts[w][USER], counts[w][OS],
		       counts[w][CYCLES], counts[w][USER_CYCLES]);
	}
}

/* A clock that is read while the kernel updates it is read again, and a reading that is later than
 * others takes another way: some rounds have 9 to 40 instructions more than the others. */
TEST(same_every_time)
{
	for (size_t w = LOOP; w < NR_WORKS; w++) {
		size_t nr_least = 0;

		for (size_t r = w * NR_SAME; r < (w + 1) * NR_SAME; r++) {
			assert_in_range(rounds[r][USER] - counts[w][USER], 0, 100);
			nr_least += rounds[r][USER] == counts[w][USER];
		}
		assert_true(nr_least >= NR_SAME / 4);
	}
}

/* Around the loop itself, with nothing beside it: no exception is allowed for. */
TEST(group_around_the_loop)
{
	const struct event ev = {&event_fixed_group, &event_fixed_group.rows[0]};
	struct perf_event_attr *attr;
	struct event_part part;
	struct pmu_count before, after;
	struct pmu_group g;
	uint64_t first = 0;

	event_part(&ev, 0, &part);
	attr = event_attr_new(&part, &(struct event_use){.flags = SPEC_USER});
	assert_non_null(attr);
	pmu_group_init(&g, &pmu_kernel_ops, 0);
	assert_int_equal(pmu_group_add(&g, attr, 0), 0);
	assert_int_equal(pmu_group_enable(&g), 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(pmu_group_read(&g, &before), 0);
		work_loop(TURNS);
		assert_int_equal(pmu_group_read(&g, &after), 0);
		if (i == 0) /* the first read binds names */
			continue;
		first = i == 1 ? after.raw - before.raw : first;
		assert_int_equal(after.raw - before.raw, first);
	}
	printf("a loop of %d instructions: %" PRIu64 "\n", TURNS * WORK_INSTRUCTIONS_PER_TURN,
	       first);
	assert_in_range(first, TURNS * WORK_INSTRUCTIONS_PER_TURN,
			TURNS * WORK_INSTRUCTIONS_PER_TURN + 200);
	pmu_group_fini(&g);
	mem_free(attr);
}

TEST(equal_to_the_loop)
{
	for (size_t w = LOOP; w < NR_WORKS; w++) {
		uint64_t known = works[w].turns * WORK_INSTRUCTIONS_PER_TURN;

		assert_in_range(counts[w][USER], known, known + OVERHEAD);
	}
}

TEST(difference_is_exact)
{
	assert_int_equal(counts[LOOP_2][USER] - counts[LOOP][USER],
			 TURNS * WORK_INSTRUCTIONS_PER_TURN);
	assert_int_equal(counts[CALL_2][USER] - counts[CALL][USER],
			 CALLS * WORK_INSTRUCTIONS_PER_TURN);
	assert_int_equal(counts[LOOP][USER] - counts[NOTHING][USER],
			 TURNS * WORK_INSTRUCTIONS_PER_TURN);
}

/* The kernel's work is large, known to be steady, and must not show in the user's count. */
TEST(kernel_work_is_the_kernels)
{
	uint64_t per_call = (counts[CALL_2][OS] - counts[CALL][OS]) / CALLS;

	printf("%" PRIu64 " kernel instructions per system call\n", per_call);
	assert_in_range(per_call, 30, 3000);
	assert_true(counts[CALL][OS] > counts[CALL][USER]);
	/* what the kernel does in a round of the loop is its own housekeeping */
	assert_true(counts[LOOP][OS] < counts[LOOP][USER]);
}

/* The three counters start and stop a few hundred instructions apart, at each boundary. */
TEST(parts_make_the_whole)
{
	for (size_t w = LOOP; w < NR_WORKS; w++) {
		uint64_t parts = counts[w][USER] + counts[w][OS];

		assert_in_range(counts[w][ALL], parts - parts / 100, parts + parts / 100);
	}
}

/* Cycles are time at 1 GHz, and an instruction takes 4 ns of it. */
TEST(cycles)
{
	for (size_t w = LOOP; w < NR_WORKS; w++) {
		assert_in_range(counts[w][CYCLES], 90000000, 110000000);
		assert_in_range(counts[w][USER_CYCLES], counts[w][USER] * 39 / 10,
				counts[w][USER] * 41 / 10);
	}
}
