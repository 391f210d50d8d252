/*
 * Sums over iterations.
 */
#include "expose/sums.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_NAMES_BYTES = 64 << 20,
	MAX_CPUS = 8192,
	MAX_SUMS = 16 << 20, /* of columns and CPUs */
	MAX_THINGS = 1 << 20,
};

int sums_init(struct sums *x, size_t nr_columns)
{
	*x = (struct sums){.nr_cpus = 0};
	dict_init_texts(&x->names, sizeof(const char *), DICT_MAX, MAX_NAMES_BYTES);
	dict_init(&x->things, sizeof(struct sums_thing), DICT_KEY(struct sums_thing, name),
		  MAX_THINGS);
	x->summary = table_summary_new(nr_columns);
	return x->summary ? 0 : -ENOMEM;
}

void sums_fini(struct sums *x)
{
	mem_free(x->cpus);
	mem_free(x->sums);
	dict_fini(&x->things);
	dict_fini(&x->names);
	if (x->summary)
		table_summary_free(x->summary);
}

/* Grows the CPU dimension; sums are copied to their new places. */
static int grow_cpus(struct sums *x, size_t nr_columns)
{
	size_t room = x->cpus_room ? 2 * x->cpus_room : 64;
	struct sums_cpu *cpus;
	struct sums_sum *sums;

	if (x->nr_cpus < x->cpus_room)
		return 0;
	if (room > MAX_CPUS || room * nr_columns > MAX_SUMS)
		return -EFBIG;
	sums = mem_calloc(room * nr_columns + 1, sizeof(*sums));
	cpus = sums ? mem_resize(x->cpus, room * sizeof(*cpus)) : NULL;
	if (!cpus) {
		mem_free(sums);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr_columns && x->nr_cpus; i++)
		memcpy(&sums[i * room], sums_at(x, i, 0), x->nr_cpus * sizeof(*sums));
	mem_free(x->sums);
	x->cpus = cpus;
	x->sums = sums;
	x->cpus_room = room;
	return 0;
}

/* Tries the row number first: iterations usually have the same CPUs. */
static int find_cpu(struct sums *x, const struct table *t, size_t row, size_t *out)
{
	uint32_t number = t->row_cpu[row];
	size_t at = row < x->nr_cpus && x->cpus[row].number == number ? row : 0;
	int rc;

	while (at < x->nr_cpus && x->cpus[at].number != number)
		at++;
	if (at == x->nr_cpus) {
		rc = grow_cpus(x, t->nr_events);
		if (rc)
			return rc;
		x->cpus[x->nr_cpus++] = (struct sums_cpu){.number = number};
	}
	*out = at;
	return 0;
}

static void add_sampled(struct sums_sum *s, const struct sampled *sampled)
{
	if (!sampled || sampled->claim == SAMPLED_NONE)
		return;
	s->is_sampled = true;
	sampled_counts_add(&s->sampled, &sampled->n);
}

void sums_sum_add(struct sums_sum *s, const struct cell *c, uint64_t realtime_ns)
{
	if (c->state == CELL_NONE)
		return;
	if (c->state == CELL_OK && cell_is_short(c))
		s->nr_partial++;
	else
		s->nr_states[c->state]++;
	if (c->is_perf) {
		s->is_perf = true;
		s->enabled_ns += c->enabled_ns;
		s->running_ns += c->running_ns;
	}
	if (!cell_has_value(c))
		return;
	s->has_value = true;
	s->realtime_ns = realtime_ns;
	s->last = *c;
	s->raw += c->raw;
	s->base += c->base;
	s->count += c->count;
	s->real += c->value;
}

void sums_sum_merge(struct sums_sum *s, const struct sums_sum *other)
{
	if (!other->has_value)
		return;
	s->has_value = true;
	s->realtime_ns = other->realtime_ns > s->realtime_ns ? other->realtime_ns : s->realtime_ns;
	s->raw += other->raw;
	s->base += other->base;
	s->count += other->count;
	s->real += other->real;
	s->last.is_real |= other->last.is_real;
	s->last.count += other->last.count;
	s->last.value += other->last.value;
}

static int add_row(struct sums *x, const struct table *t, size_t row)
{
	size_t cpu;
	int rc = find_cpu(x, t, row, &cpu);

	if (rc)
		return rc;
	for (size_t i = 0; i < t->nr_events; i++) {
		struct sums_sum *s = sums_at(x, i, table_is_of_cpu(&t->columns[i]) ? cpu : 0);

		sums_sum_add(s, table_cell(t, row, i), x->end_realtime_ns);
		add_sampled(s, table_sampled(t, row, i)); /* also of what was only sampled */
	}
	if (t->row_sampling) {
		x->cpus[cpu].lost += t->row_sampling[row].lost;
		x->cpus[cpu].ticks += t->row_sampling[row].ticks;
		x->cpus[cpu].ticks_missed += t->row_sampling[row].ticks_missed;
	}
	return 0;
}

/* Keyed by name: a thing that disappears and returns continues its sum. */
static int add_thing(struct sums *x, const struct table_thing *k)
{
	struct sums_thing key = {.column = k->column}, *thing;
	uint32_t name;

	if (k->cell.state == CELL_NONE)
		return 0;
	name = dict_add(&x->names, k->name);
	if (name == DICT_NONE)
		return -ENOMEM;
	key.name = dict_text(&x->names, name);
	thing = dict_get(&x->things, &key);
	if (!thing)
		return x->things.nr == MAX_THINGS ? -EFBIG : -ENOMEM;
	sums_sum_add(&thing->sum, &k->cell, x->end_realtime_ns);
	return 0;
}

static void count_things(struct sums *x, const struct table *t)
{
	for (size_t i = 0; i < t->nr_events && x->nr_cpus; i++)
		memset(sums_at(x, i, 0)->nr_things, 0, sizeof(sums_at(x, i, 0)->nr_things));
	for (size_t k = 0; k < t->nr_things && x->nr_cpus; k++)
		sums_at(x, t->things[k].column, 0)->nr_things[t->things[k].cell.state]++;
}

/*
 * Since 1970. Times of a series must not go back, but the clock of the day can be set back: from
 * then on time continues from the iteration before, by the session's own clock.
 */
static uint64_t end_time(const struct sums *x, const struct table *t)
{
	if (!t->realtime_ns || t->realtime_ns > x->end_realtime_ns || t->end_ns < x->end_ns)
		return t->realtime_ns ?: x->end_realtime_ns;
	return x->end_realtime_ns + (t->end_ns - x->end_ns);
}

int sums_add_things(struct sums *x, const struct table *t)
{
	int rc = 0;

	for (size_t k = 0; k < t->nr_things && rc == 0; k++)
		rc = add_thing(x, &t->things[k]);
	return rc;
}

/* The state of most iterations. */
static enum cell_state usual_state(const struct sums_sum *s)
{
	enum cell_state most = CELL_NONE;

	for (enum cell_state k = CELL_NONE; k < CELL_NR_STATES; k++)
		most = s->nr_states[k] > s->nr_states[most] ? k : most;
	return most;
}

static uint64_t to_u64(double x)
{
	return x < 0 ? 0 : x < 1.8e19 ? (uint64_t)(x + 0.5) : UINT64_MAX;
}

void sums_cell(const struct sums_sum *s, enum event_kind kind, uint64_t span_ns, struct cell *out)
{
	const uint64_t nr = s->nr_states[CELL_OK] + s->nr_states[CELL_OFFLINE] + s->nr_partial;

	*out = s->last;
	if (!s->has_value) {
		*out = (struct cell){.state = usual_state(s)};
		return;
	}
	out->is_short = s->nr_partial;
	out->span_ns = span_ns;
	out->enabled_ns = s->enabled_ns;
	out->running_ns = s->running_ns;
	out->value = s->real;
	if (kind == EVENT_VALUE)
		out->value = nr ? s->real / (double)nr : s->last.value;
	else if (kind == EVENT_SHARE)
		out->value = s->base ? 100 * (double)s->raw / (double)s->base : s->last.value;
	out->count = out->is_real ? 0 : to_u64(out->value);
}

int sums_add(struct sums *x, const struct table *t)
{
	int rc = 0;

	table_summary_add(x->summary, t);
	if (t->end_ns > t->start_ns) {
		x->measured_ns += t->end_ns - t->start_ns;
		if (t->realtime_ns && !x->start_realtime_ns)
			x->start_realtime_ns = t->realtime_ns - (t->end_ns - t->start_ns);
	}
	x->end_realtime_ns = end_time(x, t);
	x->end_ns = t->end_ns;
	x->is_sampling = t->sampled != NULL;
	for (size_t row = 0; row < t->nr_rows && rc == 0; row++)
		rc = add_row(x, t, row);
	count_things(x, t);
	return rc || x->omits_things ? rc : sums_add_things(x, t);
}
