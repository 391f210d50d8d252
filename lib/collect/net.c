/*
 * Network interfaces, from one file of a line for each.
 *
 *   Inter-|   Receive                                                |  Transmit
 *    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs …
 *     eth0: 574101541   15161    0    0    0     0          0         0   618730    8129    0 …
 */
#include "collect/net.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "things/reread.h"
#include "things/things.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

_Static_assert((int)NET_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of an interface");

#define PATH "/proc/net/dev"

enum { NR_NUMBERS = 12 }; /* up to the last that is used, of 16 */
static const signed char field_of[NR_NUMBERS] = {
    NET_RX_BYTES, NET_RX_PACKETS, NET_RX_ERRORS,  NET_RX_DROPS,  -1,          -1, -1,
    -1,           NET_TX_BYTES,   NET_TX_PACKETS, NET_TX_ERRORS, NET_TX_DROPS};

/* *p is past the colon: "574101541   15161    0 …"; large numbers may follow it directly. */
static int parse_numbers(const char *p, const char *end, uint64_t *values)
{
	for (int i = 0; i < NR_NUMBERS; i++) {
		uint64_t value;
		int rc;

		while (p != end && *p == ' ')
			p++;
		rc = str_scan_u64(&p, end, &value);
		if (rc || (p != end && *p != ' '))
			return rc ? rc : -EINVAL;
		if (field_of[i] >= 0)
			values[field_of[i]] = value;
	}
	return 0;
}

/* Names of aliases may contain a colon; numbers do not. */
int net_parse_line(const char *line, size_t len, struct net_line *out)
{
	const char *colon = memrchr(line, ':', len);
	struct net_line l = {.name = line};
	int rc;

	if (!colon)
		return -ENOENT;
	while (*l.name == ' ')
		l.name++;
	l.name_len = (size_t)(colon - l.name);
	if (!l.name_len || l.name_len > NAME_MAX || memchr(l.name, '\0', l.name_len))
		return -EINVAL;
	rc = parse_numbers(colon + 1, line + len, l.values);
	if (rc == 0)
		*out = l;
	return rc;
}

static const struct things_kind kind = {.name = "network interface"};

struct nets {
	struct things things;
	struct things_choice choice;
	int fd;
};

static int store(struct nets *n, const struct net_line *l, uint64_t time_ns)
{
	struct thing *thing = things_find(&n->things, l->name, l->name_len);
	char name[NAME_MAX + 1];
	bool is_chosen;
	int rc = 0;

	memcpy(name, l->name, l->name_len);
	name[l->name_len] = '\0';
	is_chosen = n->choice.nr ? things_match(&n->choice, name) : strcmp(name, "lo") != 0;
	if (!thing && is_chosen)
		rc = things_add(&n->things, l->name, l->name_len, &thing);
	if (rc == 0 && thing) {
		memcpy(thing->values, l->values, sizeof(l->values));
		thing->has = n->things.wanted & ((1u << NET_NR_FIELDS) - 1);
		thing->time_ns = time_ns;
	}
	return rc == -E2BIG ? 0 : rc;
}

static int read_lines(struct nets *n)
{
	const char *line, *stop, *text, *end;
	int rc = reread(n->fd, false, &n->things.text);
	uint64_t now_ns = clock_monotonic_ns();

	text = buf_str(&n->things.text);
	end = text + n->things.text.len;
	while (rc == 0 && (line = str_next_line(&text, end, &stop))) {
		struct net_line l;

		rc = net_parse_line(line, (size_t)(stop - line), &l);
		rc = rc == -ENOENT ? 0 : rc ? rc : store(n, &l, now_ns);
	}
	return rc;
}

/* The kernel returns at most a page per read. If interfaces are added or removed meanwhile, others
 * may be skipped: if one is missing, the file is read once more. */
static int read_all(struct nets *n)
{
	enum { PAGE_BYTES = 4096, LINE_BYTES = 256 };
	int rc;

	things_begin(&n->things);
	rc = read_lines(n);
	if (rc == 0 && n->things.text.len > PAGE_BYTES - LINE_BYTES &&
	    things_is_missing(&n->things))
		rc = read_lines(n);
	if (rc == 0)
		things_end(&n->things);
	return rc;
}

static int net_read(void *state)
{
	struct nets *n = state;

	return things_done(&n->things, read_all(n));
}

static void net_close(void *state)
{
	struct nets *n = state;

	io_close(&n->fd);
	things_fini(&n->things);
	mem_free(n);
}

static int find_first(struct nets *n, struct err *e)
{
	int rc = root_open(&n->things.root, PATH);

	if (rc >= 0) {
		n->fd = rc;
		rc = read_all(n);
	}
	if (rc)
		return err_set(e, rc, "network interfaces: " PATH " cannot be read: %s",
			       strerror(-rc));
	things_note_unmatched(&n->things, &n->choice);
	return 0;
}

static int net_open(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		    void **state, struct err *e)
{
	struct nets *n = mem_zalloc(sizeof(*n));
	int rc;

	if (!n)
		return err_set(e, -ENOMEM, "network interfaces: out of memory");
	things_init(&n->things, &kind, root, wanted);
	n->fd = -1;
	n->choice = *choice;
	rc = things_check_words(&n->things, choice, e) ?: find_first(n, e);
	if (rc)
		net_close(n);
	else
		*state = n;
	return rc;
}

const struct things_source collect_net_source = {
    .name = "net",
    .open = net_open,
    .close = net_close,
    .read = net_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
