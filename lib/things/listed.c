/*
 * The folder is listed at each reading, and compared with the last list.
 */
#include "things/listed.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* -ENOENT: its files are removed already, or not made yet: the kernel makes the entry first. */
static int find_or_add(struct listed *l, const char *name)
{
	char folder[PATH_MAX];
	struct thing *thing;

	if (things_find(&l->things, name, strlen(name)) || !l->is_chosen(l, name))
		return 0;
	snprintf(folder, sizeof(folder), "%s/%s", l->folder, name);
	return things_open(&l->things, folder, name, &thing);
}

/* 1: there may be others than at the last look. */
static int look(struct listed *l)
{
	int rc = l->folder ? listing_look(&l->listing) : 0;

	if (rc < 0)
		return rc;
	return (l->others && l->others->look(l->others_state)) || rc;
}

static int find_all(struct listed *l)
{
	int rc = look(l);
	bool is_late = false;
	const char *name;
	size_t at = 0;

	if (rc < 0)
		return rc;
	if (rc == 0 && !l->must_look)
		return 0;
	l->must_look = true; /* if this fails halfway */
	things_begin(&l->things);
	while (l->folder && (name = listing_each(&l->listing, &at))) {
		rc = find_or_add(l, name);
		if (rc == -ENOMEM)
			return rc;
		is_late |= rc == -ENOENT;
	}
	rc = l->others ? l->others->find(l->others_state, l) : 0;
	if (rc)
		return rc;
	things_end(&l->things);
	l->must_look = is_late;
	return 0;
}

void listed_close(void *state)
{
	struct listed *l = state;

	if (l->others)
		l->others->close(l->others_state);
	listing_close(&l->listing);
	things_fini(&l->things);
	mem_free(l);
}

static int find_first(struct listed *l, const char *what, struct err *e)
{
	int rc = l->folder ? listing_open(&l->listing, &l->things.root, l->folder) : 0;

	if (rc == -ENOENT && l->others) {
		l->folder = NULL;
		rc = 0;
	}
	l->must_look = true;
	rc = rc ?: find_all(l);
	if (rc && !l->folder)
		return err_set(e, rc, "%s: %s", what, strerror(-rc));
	if (rc)
		return err_set(e, rc, "%s: %s cannot be read: %s", what, l->folder, strerror(-rc));
	things_note_unmatched(&l->things, &l->choice);
	return 0;
}

int listed_open(const struct listed *draft, const struct things_kind *kind, const struct root *root,
		uint32_t wanted, const char *what, void **state, struct err *e)
{
	struct listed *l = mem_zalloc(sizeof(*l));
	int rc;

	if (!l) {
		if (draft->others)
			draft->others->close(draft->others_state);
		return err_set(e, -ENOMEM, "%s: out of memory", what);
	}
	*l = *draft;
	things_init(&l->things, kind, root, wanted);
	l->listing.fd = -1;
	rc = things_check_words(&l->things, &l->choice, e) ?: find_first(l, what, e);
	if (rc)
		listed_close(l);
	else
		*state = l;
	return rc;
}

static int read_all(struct listed *l)
{
	for (size_t i = l->things.nr; i-- > 0;) {
		struct thing *thing = &l->things.list[i];
		int rc = things_read(&l->things, thing);

		if (rc != -ENODEV && rc != 0)
			return rc;
		if (rc == 0)
			continue;
		things_drop(&l->things, thing);
		l->must_look = true;
	}
	return l->others ? l->others->read(l->others_state, l) : 0;
}

int listed_read(void *state)
{
	struct listed *l = state;
	int rc = find_all(l);

	return things_done(&l->things, rc ? rc : read_all(l));
}
