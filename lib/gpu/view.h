/*
 * What the two sources of things share that show the clients of GPUs: engines and processes. They
 * are joined when they are opened (collect_many_source.join), so that each client is read once.
 * The base of a share's readings is the whole of the thing. Private to gpu/.
 */
#ifndef GPU_VIEW_H
#define GPU_VIEW_H

#include "gpu/clients.h"

/* The first member of a source's state. */
struct gpu_view {
	struct gpu_clients *clients;
	uint64_t round, time_ns; /* of its last reading */
	uint32_t wanted;
	struct things_choice choice;
	/* Of the source's own array, of copies: others read the clients when this one does not. */
	size_t nr_shown, room;
};

/* 0 or -errno with *e. */
int gpu_view_init(struct gpu_view *v, const struct root *root, const struct things_choice *choice,
		  uint32_t wanted, struct err *e);
void gpu_view_fini(struct gpu_view *v);
/* Reads the clients, and shows each of nr(clients): show copies what is chosen, 0 or -ENOMEM. 0 or
 * -errno: it shows none then. */
int gpu_view_read(struct gpu_view *v, size_t (*nr)(const struct gpu_clients *c),
		  int (*show)(struct gpu_view *v, size_t i));

/* As of struct things_source. */
void gpu_view_join(void *state, void *other);
void gpu_view_begin(void *state);
size_t gpu_view_nr(const void *state);
int gpu_view_use_kernel(void *state, struct err *why);
const char *gpu_view_way(const void *state, uint16_t field);
const char *gpu_view_note(void *state);

#endif
