/*
 * The hosts of the page: of a job its parts, each with a lane of its own and its own threads.
 */
#include "base/array.h"
#include "base/mem.h"
#include "page/page.h"
#include "parts.h"
#include "profile/processes.h"
#include "report/functions.h"

#include <errno.h>
#include <string.h>

enum { MAX_HOST_BYTES = 4 << 20 };

static uint32_t add_host(struct page *h, const struct input *o)
{
	char text[PARTS_NAME_BYTES];
	const char *name = input_shown(o, text);

	return dict_add_text(&h->hosts, name, strlen(name));
}

int page_hosts_init(struct page *h)
{
	const struct inputs *in = h->j->inputs;
	const size_t nr = in->nr + in->nr_diff;

	dict_init_texts(&h->hosts, sizeof(const char *), DICT_MAX, MAX_HOST_BYTES);
	if (!parts_are_job(in))
		return 0;
	h->host_of = mem_calloc(nr, sizeof(*h->host_of));
	for (size_t i = 0; i < nr && h->host_of; i++) {
		h->host_of[i] = add_host(h, &in->item[i]);
		if (h->host_of[i] == DICT_NONE)
			return -ENOMEM;
	}
	return h->host_of ? 0 : -ENOMEM;
}

uint32_t page_host(const struct page *h, uint32_t session)
{
	return h->host_of ? h->host_of[session] : 0;
}

/* Adds the first thread of the process, without samples: its name is the process's. */
static int add_first_thread(struct page *h, struct profile_lookup *lookup, uint32_t pid,
			    uint32_t host)
{
	struct page_thread first = {
	    .pid = pid, .tid = pid, .thread = PROFILE_MAIN_THREAD, .host = host};
	struct profile_task task;

	profile_lookup_task(lookup, pid, pid, UINT64_MAX, &task);
	first.comm = report_functions_text_number(h->j->inputs->functions, task.comm->name);
	return first.comm == UINT32_MAX || dict_add(&h->threads, &first) == DICT_NONE ? -ENOMEM : 0;
}

static int add_first_threads(struct page *h, const struct input *o, uint32_t host, uint32_t nr)
{
	struct profile_lookup *lookup = o->processes ? profile_lookup_new(o->processes) : NULL;
	int rc = o->processes && !lookup ? -ENOMEM : 0;

	for (uint32_t i = 0; lookup && i < nr && rc == 0; i++) {
		const struct page_thread t = *(struct page_thread *)dict_at(&h->threads, i);

		if (t.host == host && t.tid != t.pid && t.pid < PAGE_SEVERAL)
			rc = add_first_thread(h, lookup, t.pid, host);
	}
	profile_lookup_free(lookup);
	return rc;
}

int page_hosts_name_processes(struct page *h)
{
	const struct input *first = job_input(h->j);
	const uint32_t nr = h->threads.nr;

	if (!h->host_of)
		return add_first_threads(h, first, 0, nr);
	return ARRAY_RUN(i, h->j->nr,
			 add_first_threads(h, &first[i], h->host_of[h->j->first + i], nr));
}

void page_hosts_put(struct page *h)
{
	JSONW_ARRAY(&h->json, "hosts") {
		for (uint32_t i = 0; i < h->hosts.nr; i++)
			jsonw_text(&h->json, NULL, dict_text(&h->hosts, i));
	}
}
