/*
 * Cards, by the files of sysfs that name their devices.
 */
#include "gpu/cards.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "/sys/class/drm"

enum { MAX_UEVENT_BYTES = 65536 };

bool gpu_cards_is_card(const char *name)
{
	return strncmp(name, "card", 4) == 0 && name[4] &&
	       name[4 + strspn(name + 4, "0123456789")] == '\0';
}

void gpu_cards_fini(struct gpu_cards *c)
{
	mem_free(c->list);
	*c = (struct gpu_cards){0};
}

/* One that does not fit is none that a client could name. */
static int add_card(const char *name, void *arg)
{
	struct gpu_cards *c = arg;
	struct gpu_card *card;

	if (!gpu_cards_is_card(name) || strlen(name) >= sizeof(card->name) ||
	    c->nr == GPU_CARDS_MAX)
		return 0;
	card = MEM_ADD(c->list, c->nr, c->room);
	if (!card)
		return -ENOMEM;
	memset(card, 0, sizeof(*card));
	snprintf(card->name, sizeof(card->name), "%s", name);
	return 0;
}

/* The line "PCI_SLOT_NAME=0000:03:00.0". */
static int load_pdev(struct gpu_card *card, const struct root *root)
{
	static const char key[] = "PCI_SLOT_NAME=";
	char path[PATH_MAX];
	BUF_AUTO(text, MAX_UEVENT_BYTES);
	const char *at, *end, *line, *stop;
	int rc;

	snprintf(path, sizeof(path), FOLDER "/%s/device/uevent", card->name);
	rc = root_load(root, path, &text);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	at = buf_str(&text);
	end = at + text.len;
	while ((line = str_next_line(&at, end, &stop))) {
		size_t len = (size_t)(stop - line), nr_key = sizeof(key) - 1;

		if (len > nr_key && len - nr_key < sizeof(card->pdev) &&
		    memcmp(line, key, nr_key) == 0)
			memcpy(card->pdev, line + nr_key, len - nr_key);
	}
	return 0;
}

struct minors {
	struct gpu_card *card;
	const struct root *root;
};

/* A node of the device: "card0", "renderD128"; its file dev is "226:128". */
static int add_minor(const char *name, void *arg)
{
	const struct minors *m = arg;
	char path[PATH_MAX], text[64];
	uint64_t minor;
	const char *colon;

	if (snprintf(path, sizeof(path), FOLDER "/%s/device/drm/%s/dev", m->card->name, name) >=
	    (int)sizeof(path))
		return 0;
	if (root_load_line(m->root, path, text, sizeof(text)))
		return 0;
	colon = strchr(text, ':');
	if (colon && str_parse_u64(colon + 1, &minor) == 0 && minor <= UINT32_MAX &&
	    m->card->nr_minors < GPU_CARDS_MAX_MINORS)
		m->card->minors[m->card->nr_minors++] = (uint32_t)minor;
	return 0;
}

static int load_card(struct gpu_card *card, const struct root *root)
{
	struct minors minors = {card, root};
	char path[PATH_MAX];
	int rc;

	snprintf(path, sizeof(path), FOLDER "/%s/device/drm", card->name);
	rc = root_each(root, path, add_minor, &minors);
	return rc == -ENOMEM ? rc : load_pdev(card, root);
}

int gpu_cards_load(struct gpu_cards *c, const struct root *root)
{
	int rc;

	c->nr = 0;
	rc = root_each(root, FOLDER, add_card, c);
	if (rc == 0)
		rc = ARRAY_RUN(i, c->nr, load_card(&c->list[i], root));
	if (rc)
		c->nr = 0;
	return rc ? rc : c->nr ? 0 : -ENOENT;
}

static bool has_minor(const struct gpu_card *card, uint32_t minor)
{
	return ARRAY_ANY(m, card->minors, card->nr_minors, *m == minor);
}

const char *gpu_cards_find(const struct gpu_cards *c, const char *pdev, uint32_t minor)
{
	const struct gpu_card *card = NULL;

	if (*pdev)
		card = ARRAY_FIND(x, c->list, c->nr, strcmp(x->pdev, pdev) == 0);
	if (!card)
		card = ARRAY_FIND(x, c->list, c->nr, has_minor(x, minor));
	return card ? card->name : NULL;
}
