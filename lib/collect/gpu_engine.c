/*
 * Engines of the chosen GPUs.
 */
#include "collect/gpu_engine.h"

#include "base/err.h"
#include "base/mem.h"
#include "collect/gpu_view.h"
#include "collect/things.h"

#include <errno.h>

#define BIT(n) (1u << (n))

static bool is_chosen(struct gpu_view *v, size_t i)
{
	return !v->choice.nr || things_match(&v->choice, gpu_clients_engine(v->clients, i)->device);
}

static int engine_read(void *state)
{
	return gpu_view_read(state, gpu_clients_nr_engines, is_chosen);
}

static void engine_get(const void *state, size_t i, struct collect_thing *out)
{
	const struct gpu_view *v = state;
	const struct gpu_engine *e = gpu_clients_engine(v->clients, v->shown[i]);
	uint32_t has = e->has & v->wanted;

	*out = (struct collect_thing){
	    .number = v->shown[i],
	    .name = e->name,
	    .time_ns = gpu_clients_time(v->clients),
	    .born_ns = e->born_ns,
	    .has = has,
	    .values = e->values,
	    .absent = v->wanted & ~has,
	    .missed = BIT(GPU_ENGINE_BUSY_TIME) | BIT(GPU_ENGINE_BUSY_CYCLES),
	    .nr_missed = e->nr_missed,
	    .shares = BIT(GPU_ENGINE_BUSY),
	    .wholes = e->wholes,
	};
}

static void engine_close(void *state)
{
	struct gpu_view *v = state;

	gpu_view_fini(v);
	mem_free(v);
}

static int check_words(const struct collect_choice *choice, struct err *e)
{
	static const struct things_kind kind = {.name = "GPU"};
	const struct things things = {.kind = &kind};

	return things_check_words(&things, choice, e);
}

static int engine_open(const struct root *root, const struct collect_choice *choice,
		       uint32_t wanted, void **state, struct err *e)
{
	struct gpu_view *v = mem_zalloc(sizeof(*v));
	int rc;

	if (!v)
		return err_set(e, -ENOMEM, "GPUs: out of memory");
	rc = check_words(choice, e) ?: gpu_view_init(v, root, choice, wanted, e);
	if (rc)
		mem_free(v);
	else
		*state = v;
	return rc;
}

const struct collect_many_source collect_gpu_engine_source = {
    .name = "GPU engine",
    .may_be_none = true,
    .open = engine_open,
    .close = engine_close,
    .join = gpu_view_join,
    .read = engine_read,
    .nr = gpu_view_nr,
    .get = engine_get,
    .use_kernel = gpu_view_use_kernel,
    .way = gpu_view_way,
    .note = gpu_view_note,
};
