/*
 * The memory of the experiment, and where its functions are in this process. Objects that are
 * loaded later (dlopen) are not known.
 */
#include "agent/causal/agent.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_MAPPED = CAUSAL_MEMORY_OBJECTS };

struct agent_state agent;
__thread struct agent_thread agent_thread;

/* An object of the experiment that is mapped. */
struct mapped {
	uintptr_t bias, begin, end;
	uint32_t first, nr;
};

static struct mapped mapped[MAX_MAPPED];
static uint32_t nr_mapped;

static const struct causal_memory_object *find_object(const struct stat *st)
{
	const struct causal_memory_object *o = (const void *)(agent.shared + 1);

	for (uint32_t i = 0; i < agent.shared->nr_objects; i++)
		if (o[i].device == (uint64_t)st->st_dev && o[i].inode == (uint64_t)st->st_ino)
			return &o[i];
	return NULL;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	const struct causal_memory_object *o;
	struct mapped m = {.bias = info->dlpi_addr, .begin = UINTPTR_MAX};
	struct stat st;

	(void)size;
	(void)arg;
	if (nr_mapped == MAX_MAPPED || stat(path, &st) || !(o = find_object(&st)))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		m.begin = begin < m.begin ? begin : m.begin;
		m.end = begin + p->p_memsz > m.end ? begin + p->p_memsz : m.end;
	}
	m.first = o->first;
	m.nr = o->nr;
	mapped[nr_mapped++] = m;
	return 0;
}

/* The last one that begins at or below the address, if it has it. */
static uint32_t find_function(const struct mapped *m, uint64_t address)
{
	const struct causal_memory_function *f = agent_functions() + m->first;
	uint32_t low = 0, high = m->nr;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (f[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - f[low - 1].address < f[low - 1].size ? m->first + low - 1
								     : CAUSAL_MEMORY_NONE;
}

uint32_t agent_find(uintptr_t address)
{
	for (uint32_t i = 0; i < nr_mapped; i++)
		if (address >= mapped[i].begin && address < mapped[i].end)
			return find_function(&mapped[i], address - mapped[i].bias);
	return CAUSAL_MEMORY_NONE;
}

static bool is_valid(const struct causal_memory *m, uint64_t bytes)
{
	const struct causal_memory_object *o = (const void *)(m + 1);

	if (m->magic != CAUSAL_MEMORY_MAGIC || m->nr_objects > CAUSAL_MEMORY_OBJECTS ||
	    m->nr_functions > CAUSAL_MEMORY_FUNCTIONS || m->percent > 100 ||
	    causal_memory_bytes(m->nr_objects, m->nr_functions) > bytes)
		return false;
	for (uint32_t i = 0; i < m->nr_objects; i++)
		if (o[i].first > m->nr_functions || o[i].nr > m->nr_functions - o[i].first)
			return false;
	return true;
}

static struct causal_memory *map_memory(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (size_t)st.st_size >= sizeof(struct causal_memory))
		at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return NULL;
	if (is_valid(at, (uint64_t)st.st_size))
		return at;
	munmap(at, (size_t)st.st_size);
	return NULL;
}

/* Whether this process is the one that was started, which may execute other programs. */
static bool is_first_process(void)
{
	uint32_t none = 0;
	const uint32_t pid = (uint32_t)getpid();

	return __atomic_compare_exchange_n(&agent.shared->first_pid, &none, pid, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
	       none == pid;
}

static void in_child(void)
{
	agent_thread.is_first = false;
	agent_clock_forget();
	agent_clock_begin(agent_thread.debt.paid_ns);
}

static void before_fork(void)
{
	agent_pay(&agent_thread);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv(CAUSAL_MEMORY_VARIABLE);
	uint64_t paid_ns;

	agent_hooks_init();
	if (!path || !(agent.shared = map_memory(path)))
		return;
	agent_clock_init();
	dl_iterate_phdr(add_object, NULL);
	paid_ns = causal_debts_all(&agent.shared->all_ns);
	if (is_first_process()) {
		const uint64_t behind = agent.shared->behind_ns;

		agent_thread.is_first = true;
		paid_ns = behind < paid_ns ? behind : paid_ns;
	}
	pthread_atfork(before_fork, NULL, in_child);
	agent_clock_begin(paid_ns);
}

/* In the thread that calls exit: the process ends with it. */
__attribute__((destructor)) static void end(void)
{
	struct agent_thread *t = &agent_thread;

	if (!agent.shared || !t->is_on)
		return;
	if (agent.shared->first_pid == (uint32_t)getpid())
		t->is_first = true;
	else
		agent_pay(t); /* who waits for the process is woken */
	agent_publish(t);
	agent_clock_count_queued();
}
