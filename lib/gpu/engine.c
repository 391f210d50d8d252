/*
 * Engines of the chosen GPUs.
 */
#include "gpu/engine.h"

#include "base/err.h"
#include "base/mem.h"
#include "gpu/view.h"
#include "things/things.h"

#include <errno.h>

#define BIT(n) (1u << (n))

struct engines {
	struct gpu_view view;
	struct gpu_engine *shown; /* owned */
};

static int show(struct gpu_view *v, size_t i)
{
	struct engines *s = (struct engines *)v;
	const struct gpu_engine *e = gpu_clients_engine(v->clients, i);
	struct gpu_engine *shown;

	if (v->choice.nr && !things_match(&v->choice, e->device))
		return 0;
	shown = MEM_ADD(s->shown, v->nr_shown, v->room);
	if (!shown)
		return -ENOMEM;
	*shown = *e;
	return 0;
}

static int engine_read(void *state)
{
	return gpu_view_read(state, gpu_clients_nr_engines, show);
}

static void engine_get(const void *state, size_t i, struct things_one *out)
{
	const struct engines *s = state;
	const struct gpu_engine *e = &s->shown[i];
	uint32_t has = e->has & s->view.wanted;

	*out = (struct things_one){
	    .number = e->number,
	    .name = e->name,
	    .time_ns = s->view.time_ns,
	    .born_ns = e->born_ns,
	    .has = has,
	    .values = e->values,
	    .absent = s->view.wanted & ~has,
	    .missed = BIT(GPU_ENGINE_BUSY_TIME) | BIT(GPU_ENGINE_BUSY_CYCLES),
	    .nr_missed = e->nr_missed,
	    .shares = BIT(GPU_ENGINE_BUSY),
	    .wholes = e->wholes,
	};
}

static void engine_close(void *state)
{
	struct engines *s = state;

	gpu_view_fini(&s->view);
	mem_free(s->shown);
	mem_free(s);
}

static int check_words(const struct things_choice *choice, struct err *e)
{
	static const struct things_kind kind = {.name = "GPU"};
	const struct things things = {.kind = &kind};

	return things_check_words(&things, choice, e);
}

static int engine_open(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		       void **state, struct err *e)
{
	struct engines *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "GPUs: out of memory");
	rc = check_words(choice, e) ?: gpu_view_init(&s->view, root, choice, wanted, e);
	if (rc)
		mem_free(s);
	else
		*state = s;
	return rc;
}

const struct things_source gpu_engine_source = {
    .name = "GPU engine",
    .may_be_none = true,
    .open = engine_open,
    .close = engine_close,
    .join = gpu_view_join,
    .begin = gpu_view_begin,
    .read = engine_read,
    .nr = gpu_view_nr,
    .get = engine_get,
    .use_kernel = gpu_view_use_kernel,
    .way = gpu_view_way,
    .note = gpu_view_note,
};
