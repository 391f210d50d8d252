/*
 * Problems of a run.
 */
#include "problems.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LOSSES = 32, MAX_LOSSES_BYTES = 256 << 10 };

struct problems_held {
	struct err e;
	size_t nr_more; /* problems that the message has no room for */
};

void problems_init(struct problems *p)
{
	*p = (struct problems){.has_loss = false};
	buf_init(&p->losses, MAX_LOSSES_BYTES);
	dict_init(&p->seen, sizeof(uint32_t), sizeof(uint32_t), DICT_MAX);
}

void problems_end(struct problems *p)
{
	for (size_t i = 0; i < p->nr_held; i++) {
		struct problems_held *held = &p->held[i];
		size_t len = strlen(held->e.msg);

		if (held->nr_more)
			snprintf(held->e.msg + len, sizeof(held->e.msg) - len, "; %zu more %s",
				 held->nr_more, str_plural(held->nr_more, "problem", "problems"));
		log_err(LOG_ERROR, &held->e);
	}
	p->nr_held = 0;
	for (int is_loss = 1; is_loss >= 0; is_loss--) {
		struct err e = {0};
		size_t nr;

		if (p->nr_logged[is_loss] <= PROBLEMS_MAX_LOGGED)
			continue;
		nr = p->nr_logged[is_loss] - PROBLEMS_MAX_LOGGED;
		err_set(&e, -EFBIG, "%zu more %s", nr, str_plural(nr, "problem", "problems"));
		log_err(is_loss ? LOG_ERROR : LOG_WARNING, &e);
	}
}

void problems_fini(struct problems *p)
{
	mem_free(p->held);
	buf_fini(&p->losses);
	dict_fini(&p->seen);
}

static bool was_reported(struct problems *p, const struct err *problem)
{
	uint32_t hash = hash_bytes(hash_bytes(0, problem->source, strlen(problem->source)),
				   problem->msg, strlen(problem->msg));
	size_t nr = p->seen.nr;

	/* without memory it is reported again */
	return dict_add(&p->seen, &hash) != DICT_NONE && p->seen.nr == nr;
}

static void add_loss(struct problems *p, const struct err *problem)
{
	if (p->nr_losses++ < MAX_LOSSES) {
		buf_printf(&p->losses, "not all could be read: %s%s%s", problem->source,
			   *problem->source ? ": " : "", problem->msg);
		buf_addc(&p->losses, '\0');
	} else if (p->nr_losses == MAX_LOSSES + 1) {
		buf_adds(&p->losses, "not all could be read: further problems are not listed");
		buf_addc(&p->losses, '\0');
	}
}

static bool is_of_place(const struct err *held, const struct err *problem)
{
	return *held->source && strcmp(held->source, problem->source) == 0 &&
	       held->line == problem->line && held->column == problem->column &&
	       (!*problem->hint || strcmp(held->hint, problem->hint) == 0);
}

/* Appends the message to that of an earlier loss of the same file, or counts it if there is no
 * room. False: there is no earlier one. */
static bool join(struct problems *p, const struct err *problem)
{
	enum { MORE_BYTES = 48 }; /* for the count */

	for (size_t i = 0; i < p->nr_held; i++) {
		struct problems_held *held = &p->held[i];
		size_t len = strlen(held->e.msg), room = sizeof(held->e.msg) - len;

		if (!is_of_place(&held->e, problem))
			continue;
		if (held->nr_more || strlen(problem->msg) + MORE_BYTES >= room)
			held->nr_more++;
		else
			snprintf(held->e.msg + len, room, "; %s", problem->msg);
		return true;
	}
	return false;
}

/* Parts of a file are read at several times: its losses are one line at the end. */
static void hold(struct problems *p, const struct err *problem)
{
	struct problems_held *held;

	if (join(p, problem) || p->nr_logged[true]++ >= PROBLEMS_MAX_LOGGED)
		return;
	held = MEM_ADD(p->held, p->nr_held, p->held_room);
	if (held)
		*held = (struct problems_held){.e = *problem};
	else
		log_err(LOG_ERROR, problem);
}

void problems_log(void *arg, const struct err *problem)
{
	(void)arg;
	log_err(LOG_WARNING, problem);
}

void problems_add(void *problems, bool is_loss, const struct err *problem)
{
	struct problems *p = problems;

	p->has_loss |= is_loss;
	if (was_reported(p, problem))
		return;
	if (is_loss)
		add_loss(p, problem);
	if (p->also)
		p->also(p->also_arg, problem);
	if (p->report)
		p->report(p->arg, problem);
	else if (is_loss)
		hold(p, problem);
	else if (p->nr_logged[is_loss]++ < PROBLEMS_MAX_LOGGED)
		log_err(LOG_WARNING, problem);
}

void problems_add_warning(void *problems, const struct err *problem)
{
	problems_add(problems, false, problem);
}
