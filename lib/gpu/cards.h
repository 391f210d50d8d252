/*
 * Which card of /sys/class/drm a client of a GPU belongs to: by the PCI address of its device, or
 * by the minor number of its device file. Private to gpu/.
 */
#ifndef GPU_CARDS_H
#define GPU_CARDS_H

#include "base/root.h"
#include "gpu/fdinfo.h"

enum { GPU_CARDS_MAX_MINORS = 8, GPU_CARDS_MAX = 256 };

struct gpu_card {
	char name[GPU_FDINFO_NAME_BYTES]; /* "card0" */
	char pdev[GPU_FDINFO_NAME_BYTES]; /* "": not on PCI */
	uint32_t minors[GPU_CARDS_MAX_MINORS];
	size_t nr_minors;
};

/* All zero: none. */
struct gpu_cards {
	struct gpu_card *list; /* owned; by name */
	size_t nr, room;
};

void gpu_cards_fini(struct gpu_cards *c);
/* Lists them anew. 0; -ENOENT: there is none; or -errno. *c is empty after a failure. */
int gpu_cards_load(struct gpu_cards *c, const struct root *root);
/* The card's name, valid until the next load; NULL: none fits. pdev: "" if there is none. */
const char *gpu_cards_find(const struct gpu_cards *c, const char *pdev, uint32_t minor);

/* "card0", not its outputs ("card0-DP-1"), nor the nodes for computing ("renderD128"). */
bool gpu_cards_is_card(const char *name);

#endif
