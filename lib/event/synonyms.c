/*
 * Words to events.
 */
#include "event/synonyms.h"

#include "base/array.h"
#include "base/str.h"
#include "event/event.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 64, MAX_NAME = 256 };

static const struct event_synonym synonyms[] = {
    {"syscall|system call|syscall latency|system call latency|strace",
     "latency:syscall.*,tracepoint:raw_syscalls:*", "latency"},
    {"disk latency|io latency|i/o latency|block latency|disk time|slow disk|iops",
     "latency:block,misc:disk_read_time,misc:disk_write_time,misc:disk_read_ops,misc:disk_write_"
     "ops,"
     "misc:disk_busy_time",
     "latency, disks"},
    {"disk|io|i/o|disk io|throughput", "misc:disk_*,latency:block", "disks"},
    {"lock|mutex|contention|lock contention",
     "sched:off_cpu_time,latency:syscall.futex,tracepoint:lock:contention_*", "wall"},
    {"futex", "latency:syscall.futex*,sched:off_cpu_time", "wall"},
    {"wait|blocked|off cpu|offcpu|waiting|wait time",
     "sched:off_cpu_time,sched:run_queue_time,sched:wakeups", "wall"},
    {"sleep|sleeping", "sched:off_cpu_time,latency:syscall.*nanosleep", "wall"},
    {"wakeup|wake", "sched:wakeups,sched:off_cpu_time", "wall"},
    {"run queue|runqueue|scheduler|scheduler latency|scheduling latency|run queue latency|cpu wait",
     "latency:run_queue,sched:run_queue_time,misc:process_run_delay", "latency, wall"},
    {"page fault|pagefault|fault",
     "software:page_faults,software:minor_faults,software:major_faults,misc:page_faults,"
     "misc:process_*_faults",
     "program"},
    {"context switch|switch|csw|cs", "software:context_switches,misc:context_switches", "program"},
    {"cycle|cpu cycle",
     "fixed:unhalted_core_cycles,fixed:unhalted_reference_cycles,fixed:cycle_counter", "basic"},
    {"migration", "software:cpu_migrations", ""},
    {"interrupt|irq|irq latency|interrupt latency",
     "latency:irq,latency:softirq,misc:cpu_irq,misc:cpu_softirq", "latency"},
    {"softirq|soft interrupt|bottom half", "latency:softirq,misc:cpu_softirq", "latency"},
    {"memory|memory usage|ram|rss",
     "misc:memory_used,misc:memory_available,misc:process_rss,misc:process_peak_rss,"
     "misc:cgroup_memory_current,misc:pressure_memory_*",
     "system, processes"},
    {"memory bandwidth", "misc:memory_bytes_*", "basic-cpu-memory"},
    {"iowait|io wait|i/o wait", "misc:cpu_iowait,misc:pressure_io_*,latency:block",
     "latency, disks"},
    {"swap|swapping", "misc:swap_*", ""},
    {"network|net|traffic|packet|network traffic", "misc:net_*", "system"},
    {"process|short lived|short lived process", "misc:process_*,misc:forks", "processes"},
    {"cgroup|control group|container", "misc:cgroup_*", ""},
    {"pressure|psi", "misc:pressure_*", "watch"},
    {"tcp|retransmit|tcp retransmit|retransmission",
     "tracepoint:tcp:tcp_retransmit_skb,tracepoint:tcp:tcp_retransmit_*", ""},
    {"page allocation|allocation of page|kernel allocation", "tracepoint:kmem:mm_page_alloc", ""},
    {"allocation|heap|malloc|memory allocation|memory leak|leak|memory profile",
     "heap:*,latency:syscall.brk,latency:syscall.mmap,software:page_faults,misc:process_rss,"
     "tracepoint:kmem:mm_page_alloc",
     "heap"},
    {"cpu|cpu usage|cpu utilization|cpu time|load",
     "misc:cpu_utilization,misc:process_cpu_time,misc:load_average_*", "system"},
    {"ipc|instruction per cycle", "fixed:instructions_retired,fixed:unhalted_core_cycles",
     "basic-cpu"},
    {"branch|branch miss|branch misprediction|misprediction", "arch:branch_*", "branches"},
    {"tlb|tlb miss", "arch:?tlb_*", "tlb"},
    {"energy|power", "misc:energy_*,gpu:energy,gpu:power", "energy, gpu"},
    {"temperature", "misc:*_temperature,gpu:temperature", "gpu"},
    {"gpu|graphics|graphics card|accelerator", "gpu:*", "gpu"},
    {"cache", "arch:llc_*,arch:l1*", "cache-misses, l1, l3"},
    {"cache miss|llc miss", "arch:llc_misses,arch:llc_references", "cache-misses, l3"},
    {"usdt|sdt|probe|user probe|static probe", "usdt:*", ""},
    {"exception|throw|catch", "usdt:libstdcxx:*", ""},
    {"profile|hot function|flame graph", "software:cpu_clock", "profile, program"},
};

/* "Disk_Latencies" as "disk latency". */
static void plain(const char *word, char out[MAX_WORD])
{
	size_t len = 0;

	for (; *word && len < MAX_WORD - 1; word++) {
		char c = strchr("_-. ", *word) ? ' ' : (char)tolower((unsigned char)*word);

		if (c != ' ' || (len && out[len - 1] != ' '))
			out[len++] = c;
	}
	out[len] = '\0';
	if (len > 4 && strcmp(out + len - 3, "ies") == 0)
		memcpy(out + len - 3, "y", 2);
	else if (len > 4 &&
		 (strcmp(out + len - 4, "ches") == 0 || strcmp(out + len - 4, "sses") == 0 ||
		  strcmp(out + len - 3, "xes") == 0))
		out[len - 2] = '\0';
	else if (len > 3 && out[len - 1] == 's' && out[len - 2] != 's')
		out[len - 1] = '\0';
}

/* Calls fn with each part of the text between separators, until one returns true. Its number, from
 * 0; -1: there is none. */
static int find_part(const char *text, char separator,
		     bool (*fn)(const char *part, const void *arg), const void *arg)
{
	char part[MAX_NAME];
	int number = 0;

	for (const char *end; *text; text = *end ? end + 1 : end, number++) {
		end = strchrnul(text, separator);
		snprintf(part, sizeof(part), "%.*s", (int)(end - text), text);
		if (fn(part, arg))
			return number;
	}
	return -1;
}

static bool is_word(const char *part, const void *arg)
{
	return strcmp(part, arg) == 0;
}

const struct event_synonym *event_synonym_find(const char *word)
{
	char wanted[MAX_WORD];

	plain(word, wanted);
	return ARRAY_FIND(s, synonyms, ARRAY_NR(synonyms),
			  find_part(s->words, '|', is_word, wanted) >= 0);
}

static bool is_glob_of(const char *part, const void *arg)
{
	const char *name = arg;

	return strpbrk(part, "*?[") ? str_glob(part, name) : strcmp(part, name) == 0;
}

int event_synonym_part(const struct event_synonym *s, const struct event *ev)
{
	char name[MAX_NAME];

	snprintf(name, sizeof(name), "%s:%s", ev->group->name, ev->row->name);
	return find_part(s->events, ',', is_glob_of, name);
}
