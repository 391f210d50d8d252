/*
 * A topic is a page of man, and has a page of the manual: the one is a reference, the other leads
 * from a symptom to a command. Several topics may have one page of the manual.
 */
#include "topics.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/opt.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TOPIC(name_, summary_, manual_, words_)                                                    \
	{                                                                                          \
		.name = name_, .page = "cpuperf-" name_, .section = '7', .summary = summary_,      \
		.manual = manual_, .words = words_                                                 \
	}

const struct topic topics[] = {
    TOPIC("command", "measure a command, and read its answer", "where-does-time-go",
	  "answer slow time runs"),
    TOPIC("waits", "measure where threads wait, for what and for whom", "what-does-it-wait-for",
	  "wait waiting lock locks idle latency futex blocked off-cpu wall"),
    TOPIC("heap", "measure who allocates, holds and leaks memory", "who-allocates",
	  "memory leak leaks malloc allocations oom"),
    TOPIC("resources", "measure descriptors, writes, threads, exceptions and time inside a program",
	  "who-allocates", "resource fd descriptors exceptions timers"),
    TOPIC("versus", "compare two commands, or sweep a parameter", "is-it-faster",
	  "compare faster benchmark sweep scaling ci"),
    TOPIC("diff", "compare sessions", "is-it-faster", "regression before after"),
    TOPIC("machine", "disks, processes, interfaces and control groups as events",
	  "why-is-the-machine-slow", "processes disks network cgroup system load pressure"),
    TOPIC("dashboard", "the live screens: counts and functions", "why-is-the-machine-slow",
	  "live top screen keys"),
    TOPIC("hosts", "measure many hosts and the ranks of a job", "which-host-differs",
	  "host cluster slurm mpi ranks ssh srun"),
    TOPIC("target", "measure processes, control groups and commands of a spec", "a-running-program",
	  "pid process attach comm"),
    TOPIC("flight-recorder", "the seconds before something happened", "a-running-program",
	  "crash snapshot"),
    TOPIC("session", "files, windows and control of a session", "files",
	  "windows signals control output retain"),
    TOPIC("regions", "marks in programs, labels of goroutines, and what happens in them",
	  "parts-of-a-program", "marks region nvtx itt openmp ompt kokkos likwid coz phases"),
    TOPIC("functions", "count and time each call of chosen functions", "functions",
	  "calls call function count hooks uprobe instrument uftrace ltrace"),
    TOPIC("service", "measure all the time, as a service of systemd", "all-the-time",
	  "systemd continuous days"),
    TOPIC("metrics", "what is counted, for Prometheus, PCP and the kernel's tracer", "all-the-time",
	  "prometheus openmetrics pcp grafana alerts ftrace"),
    TOPIC("push", "send profiles to Pyroscope, Parca and OpenTelemetry", "all-the-time",
	  "pyroscope parca otlp opentelemetry"),
    TOPIC("reports", "what each report of cpuperf_print shows", "where-does-time-go",
	  "report tree flat callers annotate"),
    TOPIC("formats", "output formats for programs, and exports to other viewers", "show-others",
	  "format export csv json html pprof perfetto flamegraph sqlite parquet"),
    TOPIC("names", "where names of functions come from, and why one is missing", "missing-names",
	  "symbols unknown debug jit java python node debuginfod"),
    TOPIC("events", "name events, find them, and what cannot be counted", "specs",
	  "event counters pmu usdt probes tracepoint"),
    TOPIC("sampling", "samples, how many are lost, and what a count beyond them is", "numbers",
	  "samples lost coverage residual error"),
    TOPIC("gpu", "counters of GPUs", "gpu", "nvidia amd intel cuda"),
    TOPIC("rights", "who may measure what, and how to permit it", "rights",
	  "permission root sudo paranoid capability setcap denied"),
    TOPIC("perf", "recordings of perf, and its words", "from-perf", "perf.data stat record"),
    {"spec", "cpspec", '5', "specs: what is measured, as a file", "specs", "cpspec keys json"},
    {"options", "cpuperf", '1', "the options of cpuperf", "index",
     "cpuperf option exit environment"},
    {"print", "cpuperf_print", '1', "the options of cpuperf_print", "show-others", "cpuperf_print"},
    {"library", "libcpuperf", '3', "count and sample from within a program", "from-a-program",
     "libcpuperf api"},
};

const size_t nr_topics = ARRAY_NR(topics);

static bool has_word(const char *words, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		const size_t n = strcspn(at, " ");

		if (n == len && strncasecmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

const struct topic *topic_find(const char *word)
{
	return ARRAY_FIND(x, topics, nr_topics, strcasecmp(x->name, word) == 0)
		   ?: ARRAY_FIND(x, topics, nr_topics, strcasecmp(x->page, word) == 0)
		   ?: ARRAY_FIND(x, topics, nr_topics, strcasecmp(x->manual, word) == 0)
		   ?: ARRAY_FIND(x, topics, nr_topics, has_word(x->words, word));
}

enum { MAX_WORD_BYTES = 32 };

/* The names first: of two that are as near, the first one stays. */
const char *topic_nearest(const char *word)
{
	static char found[MAX_WORD_BYTES];
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < nr_topics; i++)
		str_nearest_offer(word, topics[i].name, &best, &distance);
	for (size_t i = 0; i < nr_topics; i++)
		for (const char *at = topics[i].words; *at; at += strspn(at, " ")) {
			char one[MAX_WORD_BYTES];
			const char *offered = best;
			const size_t n = strcspn(at, " ");

			snprintf(one, sizeof(one), "%.*s", (int)n, at);
			str_nearest_offer(word, one, &offered, &distance);
			if (offered == one) {
				memcpy(found, one, sizeof(found));
				best = found;
			}
			at += n;
		}
	return best;
}

void topics_to_man(struct buf *out)
{
	for (size_t i = 0; i < nr_topics; i++) {
		buf_adds(out, ".TP\n.BR ");
		opt_man_text(out, topics[i].page);
		buf_printf(out, " (%c)\n", topics[i].section);
		opt_man_text(out, topics[i].summary);
		buf_adds(out, ".\n");
	}
}
