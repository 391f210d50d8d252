/*
 * The methods that a HotSpot machine may interpret: their frames point to what describes a method,
 * so that each has a name and lines while its class is loaded.
 *
 * Class loaders are in a list, and classes of each in another one, to which new ones are added at
 * the front; the machine takes a loader out of the list before it frees anything of it. So what is
 * in the list is not freed yet, and the memory of a loader that is gone may be used again: its
 * methods have no names from the last look on that saw it, and new ones none before the look that
 * saw them first, unless nothing was freed since the look before.
 *
 * A class is read once it is linked, as none of its methods runs before. It counts if the machine
 * has not collected garbage meanwhile, without which it frees no class.
 */
#ifndef RUNTIMES_METHODS_H
#define RUNTIMES_METHODS_H

#include "runtimes/hotspot.h"

struct jvm;
struct methods;

/* machine: copied; shared: borrowed. Methods of the first look have their names from since_ns on. 0
 * or -ENOMEM. */
int methods_new(const struct jvm *jvm, struct hotspot_shared *shared, uint64_t since_ns,
		struct methods **out);
void methods_free(struct methods *m); /* NULL is fine */

/* As hotspot_look; sets *has_changed if anything has. What cannot be read has no name yet. */
int methods_look(struct methods *m, hotspot_fn *fn, void *arg, bool *has_changed);
/* There will be no more looks, as the machine has ended. It may have freed classes since the last
 * one: where it ever did, names of those that were not there then already apply until that look. */
void methods_leave(struct methods *m, hotspot_fn *fn, void *arg);

#endif
