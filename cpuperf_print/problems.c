/*
 * Problems of a run.
 */
#include "problems.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

enum { MAX_LOSSES = 32, MAX_LOSSES_BYTES = 256 << 10 };

void problems_init(struct problems *p)
{
	*p = (struct problems){.has_loss = false};
	buf_init(&p->losses, MAX_LOSSES_BYTES);
}

void problems_fini(struct problems *p)
{
	for (int is_loss = 1; is_loss >= 0; is_loss--) {
		struct err e = {0};

		if (p->nr_logged[is_loss] <= PROBLEMS_MAX_LOGGED)
			continue;
		err_set(&e, -EFBIG, "%zu more problems",
			p->nr_logged[is_loss] - PROBLEMS_MAX_LOGGED);
		log_err(is_loss ? LOG_ERROR : LOG_WARNING, &e);
	}
	buf_fini(&p->losses);
	index_fini(&p->seen);
}

/* Equal hashes count as the same problem. */
static bool is_same_hash(const void *arg, const void *key, uint32_t number)
{
	(void)arg;
	(void)key;
	(void)number;
	return true;
}

static bool was_reported(struct problems *p, const struct err *problem)
{
	uint32_t hash = index_hash(index_hash(0, problem->source, strlen(problem->source)),
				   problem->msg, strlen(problem->msg));

	if (index_find(&p->seen, hash, is_same_hash, NULL, NULL) != INDEX_NONE)
		return true;
	(void)index_add(&p->seen, hash, 0); /* without memory it is reported again */
	return false;
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

void problems_add(void *problems, bool is_loss, const struct err *problem)
{
	struct problems *p = problems;

	p->has_loss |= is_loss;
	if (was_reported(p, problem))
		return;
	if (is_loss)
		add_loss(p, problem);
	if (p->report)
		p->report(p->arg, problem);
	else if (p->nr_logged[is_loss]++ < PROBLEMS_MAX_LOGGED)
		log_err(is_loss ? LOG_ERROR : LOG_WARNING, problem);
}
