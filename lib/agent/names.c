#include "agent/names.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	NR_BUCKETS = 1024,      /* a power of 2 */
	ARENA_BYTES = 16 << 20, /* of addresses; pages as they are used */
	FIRST_KEY = 1,
	MAX_NUMBERED = 4096,
};

static struct agent_name *buckets[NR_BUCKETS];
static char *arena;
static struct agent_name *numbered[MAX_NUMBERED];
static uint32_t nr_numbered;
static uint32_t arena_used, nr_keys = FIRST_KEY, nr_ranges;

/* Two threads may map it at once: one of them undoes it. */
static char *map_arena(void)
{
	char *seen = __atomic_load_n(&arena, __ATOMIC_ACQUIRE);
	int error = errno;
	void *at;

	if (seen)
		return seen;
	at = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = error;
	if (at == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(&arena, &seen, at, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return at;
	munmap(at, ARENA_BYTES);
	return seen;
}

/* Zeroed memory that is never freed. NULL: there is no more. */
static void *take(size_t bytes)
{
	uint32_t need = (uint32_t)((bytes + 15) & ~(size_t)15), at;
	char *from = map_arena();

	if (!from || __atomic_load_n(&arena_used, __ATOMIC_RELAXED) + need > ARENA_BYTES)
		return NULL;
	at = __atomic_fetch_add(&arena_used, need, __ATOMIC_RELAXED);
	return at + need <= ARENA_BYTES ? from + at : NULL;
}

static struct agent_name *find(struct agent_name *n, const struct agent_name *end, uint32_t kind,
			       const char *text, size_t len)
{
	for (; n != end; n = n->next)
		if (n->kind == kind && memcmp(n->text, text, len) == 0 && !n->text[len])
			return n;
	return NULL;
}

static struct agent_name *make(uint32_t kind, const char *text, size_t len,
			       void (*on_new)(struct agent_name *name))
{
	struct agent_name *n = take(sizeof(*n) + len + 1);

	if (!n)
		return NULL;
	n->kind = kind;
	n->key = __atomic_fetch_add(&nr_keys, 1, __ATOMIC_RELAXED);
	memcpy(n->text, text, len);
	if (on_new)
		on_new(n);
	return n;
}

struct agent_name *agent_name(uint32_t kind, const char *text,
			      void (*on_new)(struct agent_name *name))
{
	size_t len = agent_length(text);
	struct agent_name **bucket = &buckets[agent_hash(text, len) % NR_BUCKETS];
	struct agent_name *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE), *looked_at = NULL;
	struct agent_name *found = find(first, NULL, kind, text, len), *own;

	if (found)
		return found;
	own = make(kind, text, len, on_new);
	while (own) {
		own->next = first;
		if (__atomic_compare_exchange_n(bucket, &first, own, 0, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			return own;
		/* Others added names meanwhile: perhaps this one. */
		found = find(first, looked_at, kind, text, len);
		if (found)
			return found;
		looked_at = first;
	}
	return NULL;
}

/* Also one that loses the race to be the name: its number is nobody's. */
static void number_name(struct agent_name *n)
{
	const uint32_t at = __atomic_add_fetch(&nr_numbered, 1, __ATOMIC_RELAXED);

	n->number = at < MAX_NUMBERED ? at : 0;
	if (n->number)
		__atomic_store_n(&numbered[at], n, __ATOMIC_RELEASE);
}

uint32_t agent_number(uint32_t kind, const char *text)
{
	const struct agent_name *n = agent_name(kind, text, number_name);

	return n ? n->number : 0;
}

const struct agent_name *agent_name_of(uint32_t kind, uint32_t number)
{
	const struct agent_name *n =
	    number < MAX_NUMBERED ? __atomic_load_n(&numbered[number], __ATOMIC_ACQUIRE) : NULL;

	return n && n->kind == kind ? n : NULL;
}

size_t agent_length(const char *text)
{
	return strnlen(text, AGENT_MAX_NAME);
}

/* FNV-1a */
uint32_t agent_hash(const char *text, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

uint32_t agent_next_range(void)
{
	return AGENT_FIRST_RANGE | __atomic_add_fetch(&nr_ranges, 1, __ATOMIC_RELAXED);
}

const char *agent_join(char out[AGENT_TEXT_BYTES], const char *domain, const char *text)
{
	size_t len = domain ? agent_length(domain) : 0, more;

	if (!len)
		return text;
	memcpy(out, domain, len);
	for (const char *colon = ": "; *colon && len < AGENT_MAX_NAME; colon++)
		out[len++] = *colon;
	more = agent_length(text);
	more = more < AGENT_MAX_NAME - len ? more : AGENT_MAX_NAME - len;
	memcpy(out + len, text, more);
	out[len + more] = '\0';
	return out;
}

/* The bytes of a character; 0: it is none. */
static size_t encode(char out[4], uint32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
		       out[2] = (char)(0x80 | (c & 63)), 3;
	if (c < 0x110000)
		return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
		       out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
	return 0;
}

const char *agent_narrow(char out[AGENT_TEXT_BYTES], const wchar_t *text)
{
	size_t len = 0;

	for (; *text; text++) {
		char bytes[4] = {0};
		size_t nr = encode(bytes, (uint32_t)*text);

		if (len + nr > AGENT_MAX_NAME)
			break;
		memcpy(out + len, bytes, nr);
		len += nr;
	}
	out[len] = '\0';
	return out;
}
