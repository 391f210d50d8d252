/*
 * Computes a metric's cell from those of its operands.
 */
#include "estimate/metric.h"

const struct expr_step *metric_operand(const struct metric *m, size_t *i)
{
	while (*i < m->expr.nr_steps) {
		const struct expr_step *step = &m->expr.steps[(*i)++];

		if (step->op == EXPR_OPERAND)
			return step;
	}
	return NULL;
}

enum metric_has metric_has(const struct metric *m, const struct cell *events)
{
	size_t nr = 0, nr_blank = 0, nr_numbers = 0;
	const struct expr_step *operand;

	for (size_t i = 0; (operand = metric_operand(m, &i)); nr++) {
		const struct cell *c = &events[operand->operand];

		nr_blank += c->state == CELL_NONE;
		nr_numbers += cell_has_value(c);
	}
	if (nr_blank == nr)
		return METRIC_BLANK;
	if (nr_numbers == nr)
		return METRIC_ALL;
	return nr_blank + nr_numbers == nr ? METRIC_SOME : METRIC_LACKS;
}

/* Passes an operand's state and times on to the metric. */
static void add_operand(struct cell *m, const struct cell *c)
{
	if (c->state == CELL_OFFLINE)
		m->state = CELL_OFFLINE;
	m->is_short |= cell_is_short(c); /* not the number of parts: operands differ in it */
	if (c->is_perf && (!m->is_perf || cell_running_share(c) < cell_running_share(m))) {
		m->enabled_ns = c->enabled_ns;
		m->running_ns = c->running_ns;
	}
	m->is_perf |= c->is_perf;
	if (c->time_ns > m->time_ns)
		m->time_ns = c->time_ns;
	if (c->span_ns > m->span_ns)
		m->span_ns = c->span_ns;
}

static bool get(const struct expr_step *operand, const void *events, double *value)
{
	const struct cell *c = (const struct cell *)events + operand->operand;

	*value = c->value;
	return cell_has_value(c);
}

static enum cell_limit limit_of(const struct metric *m, double x)
{
	if (m->warn_below.text && x < m->warn_below.value)
		return CELL_LOW;
	return m->warn_above.text && x > m->warn_above.value ? CELL_HIGH : CELL_WITHIN;
}

void metric_make(const struct metric *m, const struct cell *events, uint64_t span_ns,
		 struct cell *out)
{
	struct cell c = {.state = CELL_OK, .is_metric = true, .is_real = true};
	const struct expr_step *operand;

	if (metric_has(m, events) == METRIC_BLANK) {
		*out = (struct cell){.state = CELL_NONE};
		return;
	}
	for (size_t i = 0; (operand = metric_operand(m, &i));)
		add_operand(&c, &events[operand->operand]);
	if (!c.span_ns)
		c.span_ns = span_ns;
	if (expr_evaluate(&m->expr, (double)c.span_ns / 1e9, get, events, &c.value))
		c.limit = limit_of(m, c.value);
	else
		c = (struct cell){.state = CELL_NA, .time_ns = c.time_ns};
	*out = c;
}
