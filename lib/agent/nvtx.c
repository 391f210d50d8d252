/*
 * NVTX, versions 2 and 3: the library that NVTX_INJECTION64_PATH names. The order of structures and
 * functions is that of the published header nvToolsExt.h with nvtxDetail/nvtxTypes.h (enum
 * NvtxCallbackIdCore, NvtxCallbackIdCore2); nothing of it is copied.
 *
 * The program calls InitializeInjectionNvtx2 at its first mark, and hands over a function that
 * returns tables of its function pointers. Those set here are called from then on; the rest (names
 * of categories, of GPU objects, resources, user-defined synchronization) stay nothing.
 */
#include "agent/marks.h"
#include "agent/names.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	TABLE_CALLBACKS = 1, /* of the function handed over */
	MODULE_CORE = 1,
	MODULE_CORE2 = 5,
	KIND_DOMAIN = 0x4e01, /* of names */
	KIND_STRING = 0x4e02,
	DEFAULT_KEY = AGENT_FIRST_RANGE - 1, /* of ranges that are pushed without a domain */
	NO_LEVEL = -2, /* what a program gets without a tool, too: levels are not counted */
};

enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };
enum { PAYLOAD_U64 = 1, PAYLOAD_I64 = 2, PAYLOAD_U32 = 4, PAYLOAD_I32 = 5 };

typedef void (*function)(void);

struct callbacks {
	size_t size;
	int (*get_table)(int module, function ***table, unsigned *nr);
};

/* nvtxEventAttributes_t, version 2 */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	union {
		uint64_t u64;
		int64_t i64;
		uint32_t u32;
		int32_t i32;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const struct agent_name *registered;
	} message;
};

static uint32_t key_of(const struct agent_name *domain)
{
	return domain ? domain->key : DEFAULT_KEY;
}

static const char *text_of(char out[AGENT_TEXT_BYTES], const struct attributes *a)
{
	if (!a || a->size < sizeof(*a) || !a->message.ascii)
		return "[no name]";
	switch (a->message_type) {
	case MESSAGE_ASCII:
		return a->message.ascii;
	case MESSAGE_UNICODE:
		return agent_narrow(out, a->message.unicode);
	case MESSAGE_REGISTERED:
		return a->message.registered->text;
	default:
		return "[no name]";
	}
}

/* Whether it has a number that is whole. */
static bool has_number(const struct attributes *a, int64_t *number)
{
	if (!a || a->size < sizeof(*a))
		return false;
	switch (a->payload_type) {
	case PAYLOAD_U64:
	case PAYLOAD_I64:
		return *number = a->payload.i64, true;
	case PAYLOAD_U32:
		return *number = a->payload.u32, true;
	case PAYLOAD_I32:
		return *number = a->payload.i32, true;
	default:
		return false;
	}
}

static void begin(uint32_t key, const struct agent_name *domain, const struct attributes *a)
{
	char text[AGENT_TEXT_BYTES], joined[AGENT_TEXT_BYTES];
	const char *name = agent_join(joined, domain ? domain->text : NULL, text_of(text, a));
	int64_t number;

	if (has_number(a, &number))
		cpuperf_marks_begin_number_keyed(key, name, number);
	else
		cpuperf_marks_begin_keyed(key, name);
}

/* A mark with a number is a value. */
static void mark(const struct agent_name *domain, const struct attributes *a)
{
	char text[AGENT_TEXT_BYTES], joined[AGENT_TEXT_BYTES];
	const char *name = agent_join(joined, domain ? domain->text : NULL, text_of(text, a));
	int64_t number;

	if (has_number(a, &number))
		cpuperf_marks_int(name, number);
	else
		cpuperf_marks_instant(name);
}

static void mark_ex(const struct attributes *a)
{
	mark(NULL, a);
}

static void mark_a(const char *text)
{
	cpuperf_marks_instant(text ? text : "[no name]");
}

static void mark_w(const wchar_t *text)
{
	char narrow[AGENT_TEXT_BYTES];

	cpuperf_marks_instant(text ? agent_narrow(narrow, text) : "[no name]");
}

static uint64_t domain_range_start_ex(const struct agent_name *domain, const struct attributes *a)
{
	uint32_t key = agent_next_range();

	begin(key, domain, a);
	return key;
}

static uint64_t range_start_ex(const struct attributes *a)
{
	return domain_range_start_ex(NULL, a);
}

static uint64_t range_start_a(const char *text)
{
	uint32_t key = agent_next_range();

	cpuperf_marks_begin_keyed(key, text ? text : "[no name]");
	return key;
}

static uint64_t range_start_w(const wchar_t *text)
{
	char narrow[AGENT_TEXT_BYTES];

	return range_start_a(text ? agent_narrow(narrow, text) : NULL);
}

static void range_end(uint64_t id)
{
	if (id >= AGENT_FIRST_RANGE && id <= UINT32_MAX)
		cpuperf_marks_end_keyed_anywhere((uint32_t)id);
}

static void domain_range_end(const struct agent_name *domain, uint64_t id)
{
	(void)domain;
	range_end(id);
}

static int domain_push_ex(const struct agent_name *domain, const struct attributes *a)
{
	begin(key_of(domain), domain, a);
	return NO_LEVEL;
}

static int push_ex(const struct attributes *a)
{
	return domain_push_ex(NULL, a);
}

static int push_a(const char *text)
{
	cpuperf_marks_begin_keyed(DEFAULT_KEY, text ? text : "[no name]");
	return NO_LEVEL;
}

static int push_w(const wchar_t *text)
{
	char narrow[AGENT_TEXT_BYTES];

	return push_a(text ? agent_narrow(narrow, text) : NULL);
}

static int domain_pop(const struct agent_name *domain)
{
	cpuperf_marks_end_keyed(key_of(domain));
	return NO_LEVEL;
}

static int pop(void)
{
	return domain_pop(NULL);
}

/* Names this thread alone: those of others are written by themselves. */
static void name_thread_a(uint32_t tid, const char *text)
{
	if (text && (long)tid == syscall(SYS_gettid))
		cpuperf_marks_thread_name(text);
}

static void name_thread_w(uint32_t tid, const wchar_t *text)
{
	char narrow[AGENT_TEXT_BYTES];

	if (text)
		name_thread_a(tid, agent_narrow(narrow, text));
}

static struct agent_name *register_a(const struct agent_name *domain, const char *text)
{
	(void)domain;
	return agent_name(KIND_STRING, text ? text : "[no name]", NULL);
}

static struct agent_name *register_w(const struct agent_name *domain, const wchar_t *text)
{
	char narrow[AGENT_TEXT_BYTES];

	return register_a(domain, text ? agent_narrow(narrow, text) : NULL);
}

static struct agent_name *create_domain_a(const char *text)
{
	return agent_name(KIND_DOMAIN, text ? text : "[no name]", NULL);
}

static struct agent_name *create_domain_w(const wchar_t *text)
{
	char narrow[AGENT_TEXT_BYTES];

	return create_domain_a(text ? agent_narrow(narrow, text) : NULL);
}

/* A function of ours, and its place in a module's table. */
struct replaced {
	unsigned at;
	function by;
};

#define BY(name) ((function)(name))

static const struct replaced core[] = {
    {1, BY(mark_ex)},        {2, BY(mark_a)},        {3, BY(mark_w)},    {4, BY(range_start_ex)},
    {5, BY(range_start_a)},  {6, BY(range_start_w)}, {7, BY(range_end)}, {8, BY(push_ex)},
    {9, BY(push_a)},         {10, BY(push_w)},       {11, BY(pop)},      {14, BY(name_thread_a)},
    {15, BY(name_thread_w)},
};

static const struct replaced core2[] = {
    {1, BY(mark)},
    {2, BY(domain_range_start_ex)},
    {3, BY(domain_range_end)},
    {4, BY(domain_push_ex)},
    {5, BY(domain_pop)},
    {10, BY(register_a)},
    {11, BY(register_w)},
    {12, BY(create_domain_a)},
    {13, BY(create_domain_w)},
};

static void replace(const struct callbacks *callbacks, int module, const struct replaced *r,
		    size_t nr)
{
	function **table = NULL;
	unsigned size = 0;

	if (!callbacks->get_table(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < nr; i++)
		if (r[i].at < size && table[r[i].at])
			*table[r[i].at] = r[i].by;
}

#define NR(array) (sizeof(array) / sizeof(*(array)))

/* Returns 0 where no marks are received: then they are nothing for the program, without a call. */
AGENT_EXPORTED int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));
AGENT_EXPORTED int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
	const struct callbacks *callbacks = get_table ? get_table(TABLE_CALLBACKS) : NULL;

	if (!cpuperf_marks_are_on() || !callbacks || callbacks->size < sizeof(*callbacks) ||
	    !callbacks->get_table)
		return 0;
	replace(callbacks, MODULE_CORE, core, NR(core));
	replace(callbacks, MODULE_CORE2, core2, NR(core2));
	return 1;
}
