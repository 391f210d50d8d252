#include "pmu/stand_in.h"

#include "base/clock.h"
#include "base/perf_abi.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MAX_STAND_INS = 256 };

/* The kernel's ids are small. */
#define FIRST_ID (UINT64_C(1) << 48)

static struct {
	int fd; /* -1: free */
	uint64_t id;
	uint64_t enabled_ns; /* until it was last disabled */
	uint64_t since_ns;   /* enabled since; 0: it is disabled */
} all[MAX_STAND_INS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint nr; /* that were ever used: none, mostly */
static uint64_t next_id = FIRST_ID;

/* Calls of functions in a command, which its agent counts; those of a CPU the kernel does. */
static bool is_of_functions(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT &&
	       attr->config1 == PERF_ABI_PROBE && (attr->inherit || attr->enable_on_exec);
}

bool pmu_stand_in_is_possible(const struct perf_event_attr *attr, int error)
{
	return (error == -EPERM || error == -EACCES || error == -ENOSYS) &&
	       (perf_abi_heap(attr->type, attr->config, attr->config1) >= 0 ||
		is_of_functions(attr));
}

/* Its place; -1: it is none. Under the lock. */
static int find(int fd)
{
	for (unsigned i = 0; i < nr; i++)
		if (all[i].fd == fd)
			return (int)i;
	return -1;
}

/* Its command is yet to be executed, which enables the event: that time is little. */
int pmu_stand_in_open(const struct perf_event_attr *attr)
{
	const bool is_enabled = !attr->disabled || attr->enable_on_exec;
	int fd = eventfd(0, EFD_CLOEXEC), i;

	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&lock);
	i = find(-1);
	if (i < 0 && nr < MAX_STAND_INS)
		i = (int)nr;
	if (i >= 0) {
		all[i].fd = fd;
		all[i].id = next_id++;
		all[i].enabled_ns = 0;
		all[i].since_ns = is_enabled ? clock_monotonic_ns() : 0;
		if ((unsigned)i == nr)
			nr++;
	}
	pthread_mutex_unlock(&lock);
	if (i >= 0)
		return fd;
	close(fd);
	return -EMFILE;
}

bool pmu_stand_in_is(int fd)
{
	bool is_one = false;

	if (!nr || fd < 0)
		return false;
	pthread_mutex_lock(&lock);
	is_one = find(fd) >= 0;
	pthread_mutex_unlock(&lock);
	return is_one;
}

/* Of a group of one: nr, time enabled, time running, the value and what was lost, as far as asked
 * for. */
ssize_t pmu_stand_in_read(int fd, void *buf, size_t len)
{
	uint64_t words[5] = {1};
	size_t bytes = len < sizeof(words) ? len : sizeof(words);
	int i;

	pthread_mutex_lock(&lock);
	i = find(fd);
	words[1] = all[i].enabled_ns;
	words[1] += all[i].since_ns ? clock_monotonic_ns() - all[i].since_ns : 0;
	words[2] = words[1];
	pthread_mutex_unlock(&lock);
	memcpy(buf, words, bytes);
	return (ssize_t)bytes;
}

int pmu_stand_in_ioctl(int fd, unsigned long request, unsigned long arg)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int i, rc = 0;

	pthread_mutex_lock(&lock);
	i = find(fd);
	if (request == PERF_EVENT_IOC_ID) {
		*(uint64_t *)arg = all[i].id;
	} else if (request == PERF_EVENT_IOC_ENABLE) {
		all[i].since_ns = all[i].since_ns ? all[i].since_ns : now_ns;
	} else if (request == PERF_EVENT_IOC_DISABLE) {
		all[i].enabled_ns += all[i].since_ns ? now_ns - all[i].since_ns : 0;
		all[i].since_ns = 0;
	} else {
		rc = -EINVAL;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int pmu_stand_in_close(int fd)
{
	pthread_mutex_lock(&lock);
	all[find(fd)].fd = -1;
	pthread_mutex_unlock(&lock);
	return close(fd) < 0 ? -errno : 0;
}
