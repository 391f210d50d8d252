#include "metrics.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "own_cost.h"
#include "plan/plan.h"
#include "pushing.h"
#include "session/session.h"
#include "spec/spec.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 64 << 20, MAX_URL_BYTES = 256 };

/* A port may be the kernel's choice. */
static int open_server(struct metrics *m, const char *address, struct err *e)
{
	BUF_AUTO(url, MAX_URL_BYTES);
	int rc = serve_open(address, &m->serve, e);

	if (rc)
		return rc;
	serve_add_url(m->serve, &url);
	if (strncmp(address, "unix:", 5) == 0)
		log_info("metrics: %s at %s", buf_str(&url), address);
	else
		log_info("metrics: %s", buf_str(&url));
	return 0;
}

int metrics_open(struct metrics *m, const char *address, struct serve **kept,
		 const struct pushing *pushing, struct err *e)
{
	int rc = 0;

	*m = (struct metrics){
	    .pushing = pushing, .serve = address && kept ? *kept : NULL, .kept = kept};
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		buf_init(&m->text[i], MAX_TEXT_BYTES);
	if (address && !m->serve)
		rc = open_server(m, address, e);
	if (rc == 0 && address && kept)
		*kept = m->serve;
	return rc;
}

int metrics_begin(struct metrics *m, const struct session *s, const struct table *t,
		  size_t max_things, struct err *e)
{
	const struct plan *plan = session_plan(s);
	struct exposition_config config = {
	    .has_no_times = true, .is_of_iterations = true, .max_things = max_things};

	if (!m->serve)
		return 0;
	m->plan = plan;
	m->events = mem_calloc(plan->nr_events + 1, sizeof(*m->events));
	if (!m->events)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < plan->nr_events; i++)
		session_describe_event(s, i, &m->events[i]);
	config.events = m->events;
	config.session = (struct exposition_session){.host = plan->host->node,
						     .machine = plan->host->machine,
						     .config_name = plan->spec->config_name,
						     .kernel = plan->host->kernel,
						     .cpu_model = plan->host->cpu_model,
						     .tool = "cpuperf " CPUPERF_VERSION};
	if (exposition_init(&m->exposition, &config, t))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

/* A family of one line. */
static void put_one(struct openmetrics *m, enum openmetrics_type type, const char *name,
		    const char *unit, const char *help, const char *value)
{
	openmetrics_family(m, type, name, unit, help);
	openmetrics_begin(m);
	openmetrics_value(m);
	buf_adds(m->out, value);
	openmetrics_end(m, 0);
}

/* What this process costs, by the names that all exporters use, and what it may cost. */
static void put_own_cost(const struct metrics *m, struct openmetrics *to)
{
	const struct plan *plan = m->plan;
	uint64_t resident = own_cost_memory();
	char text[64];

	snprintf(text, sizeof(text), "%.6f", (double)clock_process_cpu_ns() / 1e9);
	put_one(to, OPENMETRICS_COUNTER, "process_cpu_seconds", "seconds", "CPU time of cpuperf.",
		text);
	snprintf(text, sizeof(text), "%" PRIu64, resident);
	if (resident)
		put_one(to, OPENMETRICS_GAUGE, "process_resident_memory_bytes", "bytes",
			"Memory of cpuperf.", text);
	if (!plan->spec->max_own_cpu)
		return;
	snprintf(text, sizeof(text), "%.9g", (double)plan->spec->max_own_cpu / 1e11);
	put_one(to, OPENMETRICS_GAUGE, "cpuperf_max_own_cpu_ratio", "ratio",
		"The share of a CPU that cpuperf may use: max_own_cpu of the spec.", text);
	snprintf(text, sizeof(text), "%" PRIu32, plan->divisor);
	put_one(to, OPENMETRICS_GAUGE, "cpuperf_rate_divisor", "",
		"By which the rates of sampled events are divided to stay below it.", text);
}

static int add(struct metrics *m, const struct table *t)
{
	int rc = exposition_add(&m->exposition, t)
		     ?: latencies_merge(&m->exposition.latencies, &t->latencies);

	struct buf *text = &m->text[SERVE_OPENMETRICS], *classic = &m->text[SERVE_CLASSIC];

	buf_reset(text);
	buf_reset(classic);
	rc = rc ?: exposition_put(&m->exposition, t, text, false, NULL);
	if (rc)
		return rc;
	put_own_cost(m, &m->exposition.m);
	pushing_put_metrics(m->pushing, &m->exposition.m);
	openmetrics_eof(&m->exposition.m);
	openmetrics_to_classic(text, classic);
	return buf_error(text) ?: buf_error(classic) ?: serve_set(m->serve, m->text);
}

void metrics_add(struct metrics *m, const struct table *t)
{
	int rc = m->serve ? add(m, t) : 0;

	if (rc && !m->has_failed)
		log_warning("--metrics-listen: from iteration %u on, metrics are not renewed: %s",
			    t->iteration, strerror(-rc));
	m->has_failed |= rc != 0;
}

void metrics_close(struct metrics *m)
{
	if (!m->kept)
		serve_close(m->serve);
	m->serve = NULL;
	if (m->events)
		exposition_fini(&m->exposition);
	mem_free(m->events);
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		buf_fini(&m->text[i]);
}
