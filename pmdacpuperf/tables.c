#include "tables.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ITEM_BITS = 10, NAME_BYTES = 8192 };

static const int types[] = {
    [PCP_U64] = PM_TYPE_U64, [PCP_DOUBLE] = PM_TYPE_DOUBLE, [PCP_STRING] = PM_TYPE_STRING};
static const int semantics[] = {[PCP_COUNTER] = PM_SEM_COUNTER,
				[PCP_INSTANT] = PM_SEM_INSTANT,
				[PCP_DISCRETE] = PM_SEM_DISCRETE};
static const pmUnits units[] = {
    [PCP_NONE] = {.dimSpace = 0},
    [PCP_COUNT] = {.dimCount = 1, .scaleCount = PM_COUNT_ONE},
    [PCP_BYTES] = {.dimSpace = 1, .scaleSpace = PM_SPACE_BYTE},
    [PCP_MEBIBYTES] = {.dimSpace = 1, .scaleSpace = PM_SPACE_MBYTE},
    [PCP_NS] = {.dimTime = 1, .scaleTime = PM_TIME_NSEC},
    [PCP_SECONDS] = {.dimTime = 1, .scaleTime = PM_TIME_SEC},
    [PCP_PER_SECOND] = {.dimCount = 1, .dimTime = -1, .scaleTime = PM_TIME_SEC}};

static const struct own {
	const char *name, *help;
	enum pcp_type type;
	enum pcp_semantics semantics;
	enum pcp_unit unit;
} own[TABLES_NR_OWN] = {
    [TABLES_CONNECTED] = {"connected", "Whether a session was read at the last try: 1, or 0.",
			  PCP_U64, PCP_INSTANT, PCP_NONE},
    [TABLES_READS] = {"reads", "Number of texts read from sessions.", PCP_U64, PCP_COUNTER,
		      PCP_COUNT},
    [TABLES_FAILURES] = {"failures", "Number of tries to read a session that failed.", PCP_U64,
			 PCP_COUNTER, PCP_COUNT},
    [TABLES_SKIPPED] = {"skipped", "Lines of the last text that no metric has.", PCP_U64,
			PCP_INSTANT, PCP_COUNT},
    [TABLES_ADDRESS] = {"address", "Where the session is read: its --metrics-listen.", PCP_STRING,
			PCP_DISCRETE, PCP_NONE},
    [TABLES_PROBLEM] = {"problem", "Why the last try failed; empty: it did not.", PCP_STRING,
			PCP_DISCRETE, PCP_NONE},
};

const char *tables_own_help(unsigned item)
{
	return item < TABLES_NR_OWN ? own[item].help : NULL;
}

static pmID make_pmid(int domain, uint32_t id)
{
	return pmID_build((unsigned)domain, id >> ITEM_BITS, id & ((1u << ITEM_BITS) - 1));
}

/* A name that collides with another one, in a text that is not ours, has no node. */
static void add(struct tables *t, const char *name, const pmDesc *desc, size_t number)
{
	char full[NAME_BYTES];

	t->metrics[t->nr_metrics++] =
	    (pmdaMetric){.m_user = (void *)(uintptr_t)number, .m_desc = *desc};
	snprintf(full, sizeof(full), "cpuperf.%s", name);
	(void)pmdaTreeInsert(t->names, desc->pmid, full);
	t->hash = crc32c(crc32c(t->hash, full, strlen(full)), &desc->pmid, sizeof(desc->pmid));
}

static void add_own(struct tables *t, int domain)
{
	char name[NAME_BYTES];

	for (unsigned i = 0; i < TABLES_NR_OWN; i++) {
		const pmDesc desc = {.pmid = make_pmid(domain, i),
				     .type = types[own[i].type],
				     .indom = PM_INDOM_NULL,
				     .sem = semantics[own[i].semantics],
				     .units = units[own[i].unit]};

		snprintf(name, sizeof(name), "pmda.%s", own[i].name);
		add(t, name, &desc, 0);
	}
}

static void add_metrics(struct tables *t, const struct pcp_metrics *m, int domain)
{
	for (uint32_t i = 0; i < m->metrics.nr; i++) {
		const struct pcp_metric *it = dict_at(&m->metrics, i);
		const pmDesc desc = {.pmid = make_pmid(domain, it->id),
				     .type = types[it->type],
				     .indom = it->indom == PCP_NO_INDOM
						  ? PM_INDOM_NULL
						  : t->indoms[it->indom].it_indom,
				     .sem = semantics[it->semantics],
				     .units = units[it->unit]};

		add(t, it->name, &desc, i + 1);
	}
}

/* Instances of a domain are beside each other. */
static void add_indoms(struct tables *t, const struct pcp_metrics *m, int domain)
{
	pmdaInstid *at = t->instances;

	for (uint32_t i = 0; i < m->indoms.nr; i++) {
		const struct pcp_indom *it = dict_at(&m->indoms, i);

		t->indoms[t->nr_indoms++] =
		    (pmdaIndom){.it_indom = pmInDom_build((unsigned)domain, it->id), .it_set = at};
		at += it->nr_instances;
	}
	for (uint32_t i = 0; i < m->instances.nr; i++) {
		const struct pcp_instance *it = dict_at(&m->instances, i);
		pmdaIndom *indom = &t->indoms[it->indom];

		indom->it_set[indom->it_numinst++] =
		    (pmdaInstid){it->id, (char *)(uintptr_t)it->name};
	}
}

int tables_make(struct tables *t, const struct pcp_metrics *m, int domain)
{
	*t = (struct tables){.metrics =
				 mem_calloc(m->metrics.nr + TABLES_NR_OWN, sizeof(*t->metrics)),
			     .indoms = mem_calloc(m->indoms.nr + 1, sizeof(*t->indoms)),
			     .instances = mem_calloc(m->instances.nr + 1, sizeof(*t->instances))};
	if (!t->metrics || !t->indoms || !t->instances || pmdaTreeCreate(&t->names) < 0)
		return -ENOMEM;
	add_indoms(t, m, domain);
	add_own(t, domain);
	add_metrics(t, m, domain);
	pmdaTreeRebuildHash(t->names, t->nr_metrics);
	return 0;
}

void tables_fini(struct tables *t)
{
	mem_free(t->metrics);
	mem_free(t->indoms);
	mem_free(t->instances);
	if (t->names)
		pmdaTreeRelease(t->names);
	*t = (struct tables){0};
}
