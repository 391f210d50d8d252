/*
 * A selection of what the clients add up to.
 */
#include "gpu/view.h"

int gpu_view_init(struct gpu_view *v, const struct root *root, const struct things_choice *choice,
		  uint32_t wanted, struct err *e)
{
	*v = (struct gpu_view){.choice = *choice, .wanted = wanted};
	return gpu_clients_open(root, &v->clients, e);
}

void gpu_view_fini(struct gpu_view *v)
{
	gpu_clients_close(v->clients);
}

int gpu_view_read(struct gpu_view *v, size_t (*nr)(const struct gpu_clients *c),
		  int (*show)(struct gpu_view *v, size_t i))
{
	int rc = gpu_clients_read(v->clients, &v->round);

	v->nr_shown = 0;
	v->time_ns = gpu_clients_time(v->clients);
	for (size_t i = 0; rc == 0 && i < nr(v->clients); i++)
		rc = show(v, i);
	if (rc)
		v->nr_shown = 0;
	return rc;
}

void gpu_view_begin(void *state)
{
	const struct gpu_view *v = state;

	gpu_clients_begin(v->clients);
}

void gpu_view_join(void *state, void *other)
{
	struct gpu_view *v = state;
	const struct gpu_view *o = other;

	gpu_clients_close(v->clients);
	v->clients = gpu_clients_share(o->clients);
}

size_t gpu_view_nr(const void *state)
{
	const struct gpu_view *v = state;

	return v->nr_shown;
}

int gpu_view_use_kernel(void *state, struct err *why)
{
	const struct gpu_view *v = state;

	return gpu_clients_use_kernel(v->clients, why);
}

const char *gpu_view_way(const void *state, uint16_t field)
{
	const struct gpu_view *v = state;

	(void)field;
	return gpu_clients_way(v->clients);
}

const char *gpu_view_note(void *state)
{
	const struct gpu_view *v = state;

	return gpu_clients_next_note(v->clients);
}
