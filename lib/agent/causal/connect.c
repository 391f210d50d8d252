/*
 * The memory of the experiment: each process image asks for it at the recorder's socket; a child by
 * fork has that of its parent.
 */
#include "agent/causal/agent.h"

#define CPUPERF_MARK_LATE /* for the functions by which an object with marks connects */
#include "cpuperf/mark.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct agent_state agent;
__thread struct agent_thread agent_thread;

static bool is_valid(const struct causal_memory *m, uint64_t bytes)
{
	const struct causal_memory_object *o = (const void *)(m + 1);

	if (m->magic != CAUSAL_MEMORY_MAGIC || m->nr_objects > CAUSAL_MEMORY_OBJECTS ||
	    m->nr_ranges > CAUSAL_MEMORY_RANGES || m->nr_candidates > CAUSAL_MEMORY_CANDIDATES ||
	    (m->are_regions && m->nr_regions > m->nr_candidates) ||
	    m->nr_regions > CAUSAL_MEMORY_REGIONS ||
	    causal_memory_bytes(m->nr_objects, m->nr_ranges, m->nr_candidates, m->nr_regions) >
		bytes)
		return false;
	for (uint32_t i = 0; i < m->nr_objects; i++)
		if (o[i].first > m->nr_ranges || o[i].nr > m->nr_ranges - o[i].first)
			return false;
	return true;
}

static struct causal_memory *map_memory(int fd, uint64_t *bytes)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) || !(fcntl(fd, 1034 /* F_GET_SEALS */) & 2 /* F_SEAL_SHRINK */) ||
	    (size_t)st.st_size < sizeof(struct causal_memory))
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	*bytes = (uint64_t)st.st_size;
	if (is_valid(at, *bytes))
		return at;
	munmap(at, (size_t)st.st_size);
	return NULL;
}

/* The session's is always at one place, where there is room: a thread may still be reading there.
 */
static struct causal_memory *put_in_place(struct causal_memory *m, uint64_t bytes)
{
	if (bytes > agent.room) {
		agent.room = bytes;
		return m;
	}
	return syscall(SYS_mremap, m, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, agent.shared) ==
		       (long)agent.shared
		   ? agent.shared
		   : NULL;
}

void agent_disconnect(void)
{
	/* what is slept for in it is over: the recorder has said so, or has died */
	const long at = syscall(SYS_mmap, agent.shared, agent.room, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0L);

	if (at == (long)agent.shared)
		__atomic_store_n(&agent.shared->owner, CAUSAL_MEMORY_DIED, __ATOMIC_RELAXED);
}

void *agent_pages(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

bool agent_connect(uint32_t number)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_EXPERIMENT};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];
	struct causal_memory *m = NULL;
	uint64_t bytes = 0;

	if (!number || cpuperf_mark_ask(number, &hello, fds) < 0)
		return false;
	if (fds[0] >= 0)
		m = map_memory(fds[0], &bytes);
	for (int i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	m = m ? put_in_place(m, bytes) : NULL;
	if (m) {
		agent.nr_objects = m->nr_objects;
		agent.nr_ranges = m->nr_ranges;
		agent.nr_candidates = m->nr_candidates;
		agent.nr_regions = m->nr_regions;
		agent.are_regions = m->are_regions;
		agent.shared = m;
		agent_regions_init();
	}
	return m != NULL;
}

bool agent_is_first_process(void)
{
	uint32_t none = 0;
	const uint32_t pid = (uint32_t)getpid();

	return __atomic_compare_exchange_n(&agent.shared->first_pid, &none, pid, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
	       none == pid;
}

/* Its session is that of the parent, and ends when the recorder has ended. */
static void in_child(void)
{
	const struct agent_thread *t = agent_here();

	agent_thread.is_first = false;
	agent_clock_forget();
	agent_find_forget();
	agent_sources_forget();
	if (agent_may_begin())
		agent_clock_begin(t ? t->debt.paid_ns : causal_debts_all(&agent.shared->all_ns));
}

static void before_fork(void)
{
	agent_pay();
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv(CAUSAL_MEMORY_VARIABLE);
	uint64_t paid_ns;

	agent.is_beside = !agent_is_preloaded();
	agent_hooks_init();
	agent_streams_init();
	agent_peers_init();
	agent_polls_init();
	agent_calls_init();
	pthread_atfork(before_fork, NULL, in_child);
	if (agent.is_beside || !name || !agent_connect(cpuperf_mark_number(name)))
		return;
	agent_sources_take_signal();
	agent_find_again();
	paid_ns = causal_debts_all(&agent.shared->all_ns);
	if (agent_is_first_process()) {
		const uint64_t behind = agent.shared->behind_ns;

		agent_thread.is_first = true;
		paid_ns = behind < paid_ns ? behind : paid_ns;
	}
	agent_clock_begin(paid_ns);
}

/* In the thread that calls exit: the process ends with it. */
__attribute__((destructor)) static void end(void)
{
	struct agent_thread *t = agent_here();

	if (!t)
		return;
	if (agent.shared->first_pid == (uint32_t)getpid())
		t->is_first = true;
	else
		agent_pay(); /* who waits for the process is woken */
	agent_publish(t);
	agent_clock_end_all();
}
