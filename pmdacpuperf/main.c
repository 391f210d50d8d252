/*
 * pmdacpuperf: the agent by which Performance Co-Pilot (pmcd) reads a running session of cpuperf.
 * It reads what the session serves at --metrics-listen when a client asks, at most five times a
 * second, and keeps no number of a session that does not answer.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "reader.h"
#include "tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_DOMAIN = 397, MAX_TEXT_BYTES = 64 << 20, HELP_BYTES = 8192, PROBLEM_BYTES = 512 };

static const uint64_t fresh_ns = 200000000;

/* The interface of libpcp_pmda has no argument for it. */
static struct agent {
	const char *address;
	struct reader *reader;
	struct buf text;
	struct pcp_metrics metrics; /* of the last session that was read */
	struct tables tables;
	bool is_live;      /* and it still answered at the last try */
	uint64_t tried_ns; /* 0: never */
	uint64_t reads, failures;
	char problem[PROBLEM_BYTES], help[HELP_BYTES];
	pmdaInterface pmda;
} agent;

/* --- the session ----------------------------------------------------------------------------- */

/* Replaces what is there. 0 or -ENOMEM: all remains. */
static int use(struct pcp_metrics *m)
{
	pmdaExt *ext = agent.pmda.version.any.ext;
	struct tables tables;

	if (tables_make(&tables, m, agent.pmda.domain)) {
		tables_fini(&tables);
		return -ENOMEM;
	}
	if (agent.tables.hash && tables.hash != agent.tables.hash)
		pmdaSetFlags(&agent.pmda, PMDA_EXT_NAMES_CHANGE);
	ext->e_indoms = tables.indoms;
	ext->e_nindoms = tables.nr_indoms;
	pmdaRehash(ext, tables.metrics, tables.nr_metrics);
	tables_fini(&agent.tables);
	pcp_metrics_fini(&agent.metrics);
	agent.tables = tables;
	agent.metrics = *m;
	return 0;
}

static int read_session(struct err *e)
{
	struct pcp_metrics m = {0};
	int rc = reader_get(agent.reader, &agent.text, e);

	if (rc)
		return rc;
	rc = pcp_metrics_parse(&m, buf_str(&agent.text), agent.text.len) ?: use(&m);
	if (rc) {
		pcp_metrics_fini(&m);
		err_set(e, rc,
			rc == -ENOMEM ? "out of memory"
				      : "what it serves is no valid OpenMetrics text");
	}
	return rc;
}

/* Called before each request. Names remain when a session has ended; its numbers do not. */
static int refresh(void)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct err e = {0};

	if (agent.tried_ns && now_ns - agent.tried_ns < fresh_ns)
		return 0;
	agent.is_live = read_session(&e) == 0;
	agent.tried_ns = clock_monotonic_ns();
	agent.reads += agent.is_live;
	agent.failures += !agent.is_live;
	snprintf(agent.problem, sizeof(agent.problem), "%s", agent.is_live ? "" : e.msg);
	return 0;
}

/* --- what pmcd asks -------------------------------------------------------------------------- */

static int fetch_own(unsigned item, pmAtomValue *out)
{
	const uint64_t numbers[] = {[TABLES_CONNECTED] = agent.is_live,
				    [TABLES_READS] = agent.reads,
				    [TABLES_FAILURES] = agent.failures,
				    [TABLES_SKIPPED] = agent.metrics.nr_skipped};

	if (item < ARRAY_NR(numbers))
		out->ull = numbers[item];
	else
		out->cp = item == TABLES_ADDRESS ? (char *)(uintptr_t)agent.address : agent.problem;
	return PMDA_FETCH_STATIC;
}

static int fetch_value(pmdaMetric *it, unsigned instance, pmAtomValue *out)
{
	uintptr_t number = (uintptr_t)it->m_user;
	const union pcp_value *value;

	if (!number)
		return fetch_own(pmID_item(it->m_desc.pmid), out);
	if (!agent.is_live)
		return PM_ERR_AGAIN;
	value = pcp_metrics_value(&agent.metrics, (uint32_t)number - 1,
				  instance == PM_IN_NULL ? 0 : (int32_t)instance);
	if (!value)
		return PMDA_FETCH_NOVALUES;
	switch (it->m_desc.type) {
	case PM_TYPE_U64:
		out->ull = value->u64;
		break;
	case PM_TYPE_DOUBLE:
		out->d = value->real;
		break;
	default:
		out->cp = (char *)(uintptr_t)value->text;
	}
	return PMDA_FETCH_STATIC;
}

static int find_pmid(const char *name, pmID *out, pmdaExt *ext)
{
	(void)ext;
	return pmdaTreePMID(agent.tables.names, name, out);
}

static int find_name(pmID pmid, char ***out, pmdaExt *ext)
{
	(void)ext;
	return pmdaTreeName(agent.tables.names, pmid, out);
}

static int find_children(const char *name, int is_deep, char ***children, int **states,
			 pmdaExt *ext)
{
	(void)ext;
	return pmdaTreeChildren(agent.tables.names, name, is_deep, children, states);
}

static int help_metric(const pmdaMetric *it, bool is_line)
{
	uintptr_t number = (uintptr_t)it->m_user;
	const struct pcp_metric *m =
	    number ? dict_at(&agent.metrics.metrics, (uint32_t)number - 1) : NULL;
	const char *help = m ? m->help : tables_own_help(pmID_item(it->m_desc.pmid));

	snprintf(agent.help, sizeof(agent.help), is_line || !m ? "%s" : "%s\nThe family %s of %s.",
		 help, m ? m->family : "", agent.address);
	return 0;
}

static int find_help(int ident, int type, char **out, pmdaExt *ext)
{
	bool is_line = type & PM_TEXT_ONELINE;
	const pmdaMetric *it = ARRAY_FIND(x, agent.tables.metrics, (size_t)agent.tables.nr_metrics,
					  x->m_desc.pmid == (pmID)ident);
	const pmdaIndom *indom = ARRAY_FIND(x, agent.tables.indoms, (size_t)agent.tables.nr_indoms,
					    x->it_indom == (pmInDom)ident);

	(void)ext;
	*out = agent.help;
	if ((type & PM_TEXT_PMID) && it)
		return help_metric(it, is_line);
	if (!(type & PM_TEXT_INDOM) || !indom)
		return PM_ERR_TEXT;
	snprintf(agent.help, sizeof(agent.help), "Of cpuperf: %s",
		 dict_text(&agent.metrics.indoms, (uint32_t)(indom - agent.tables.indoms)));
	return 0;
}

/* --- the program ----------------------------------------------------------------------------- */

static pmLongOptions long_options[] = {PMDA_OPTIONS_HEADER("Options"),
				       PMOPT_DEBUG,
				       PMDAOPT_DOMAIN,
				       PMDAOPT_INET,
				       PMDAOPT_IPV6,
				       PMDAOPT_LOGFILE,
				       PMDAOPT_PIPE,
				       PMDAOPT_UNIX,
				       PMDAOPT_USERNAME,
				       PMOPT_HELP,
				       PMDA_OPTIONS_TEXT("ADDRESS: of cpuperf --metrics-listen, "
							 "by default " READER_DEFAULT_ADDRESS),
				       PMDA_OPTIONS_END};
static pmdaOptions options = {.short_options = "D:d:i:6:l:pu:U:?",
			      .long_options = long_options,
			      .short_usage = "[options] [ADDRESS]"};

static void parse(int argc, char **argv)
{
	while (pmdaGetOptions(argc, argv, &options, &agent.pmda) != EOF)
		options.errors++; /* what remains for us is -? alone */
	if (options.errors || argc - options.optind > 1) {
		pmdaUsageMessage(&options);
		exit(1);
	}
	agent.address = options.optind < argc ? argv[options.optind] : READER_DEFAULT_ADDRESS;
}

static void start(void)
{
	struct pcp_metrics none = {0};
	struct err e = {0};
	char *user = options.username;

	pmdaOpenLog(&agent.pmda);
	if (!user && geteuid() == 0)
		pmGetUsername(&user);
	if (user)
		pmSetProcessIdentity(user);
	buf_init(&agent.text, MAX_TEXT_BYTES);
	if (reader_open(agent.address, &agent.reader, &e)) {
		pmNotifyErr(LOG_ERR, "%s", e.msg);
		exit(1);
	}
	agent.pmda.version.four.pmid = find_pmid;
	agent.pmda.version.four.name = find_name;
	agent.pmda.version.four.children = find_children;
	agent.pmda.version.four.text = find_help;
	pmdaSetFetchCallBack(&agent.pmda, fetch_value);
	pmdaSetCheckCallBack(&agent.pmda, refresh);
	pmdaSetFlags(&agent.pmda, PMDA_EXT_FLAG_HASHED);
	pmdaInit(&agent.pmda, NULL, 0, NULL, 0);
	if (agent.pmda.status || use(&none)) {
		pmNotifyErr(LOG_ERR, "cannot start: %s", pmErrStr(agent.pmda.status));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static char name[] = "pmdacpuperf", log[] = "cpuperf.log";

	pmSetProgname(name);
	pmdaDaemon(&agent.pmda, PMDA_INTERFACE_5, name, DEFAULT_DOMAIN, log, NULL);
	parse(argc, argv);
	start();
	pmdaConnect(&agent.pmda);
	pmdaMain(&agent.pmda);
	reader_close(agent.reader);
	tables_fini(&agent.tables);
	pcp_metrics_fini(&agent.metrics);
	buf_fini(&agent.text);
	return 0;
}
