/*
 * A minimal caller of ITT by its published ABI (ITT API 3: ittnotify.h, ittnotify_config.h), as the
 * part that programs link does it: the library of INTEL_LIBITTNOTIFY64 is loaded, and its
 * __itt_api_init sets the pointers of a list of functions by name.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct domain {
	volatile int flags;
	const char *name;
	void *wide;
	int extra1;
	void *extra2;
	struct domain *next;
};

struct string {
	const char *text;
	void *wide;
	int extra1;
	void *extra2;
	struct string *next;
};

struct id {
	unsigned long long d1, d2, d3;
};

struct api {
	const char *name;
	void **pointer;
	void *init, *null;
	int group;
};

static struct domain *(*domain_create)(const char *);
static struct string *(*string_handle_create)(const char *);
static void (*task_begin)(const struct domain *, struct id, struct id, struct string *);
static void (*task_end)(const struct domain *);
static void (*task_begin_overlapped)(const struct domain *, struct id, struct id, struct string *);
static void (*task_end_overlapped)(const struct domain *, struct id);
static void (*frame_begin_v3)(const struct domain *, struct id *);
static void (*frame_end_v3)(const struct domain *, struct id *);
static void (*marker)(const struct domain *, struct id, struct string *, int);
static int (*event_create)(const char *, int);
static int (*event_start)(int), (*event_end)(int);
static void *(*counter_create)(const char *, const char *);
static void *(*counter_create_typed)(const char *, const char *, int);
static void (*counter_set_value)(void *, void *), (*counter_inc_delta)(void *, unsigned long long);
static void (*itt_pause)(void), (*itt_resume)(void);
static void (*thread_set_name)(const char *);
static void (*task_begin_ex)(const struct domain *, void *, unsigned long long, struct id,
			     struct id, struct string *);
static void (*task_end_ex)(const struct domain *, void *, unsigned long long);
static void (*task_begin_overlapped_ex)(const struct domain *, void *, unsigned long long,
					struct id, struct id, struct string *);
static void (*task_end_overlapped_ex)(const struct domain *, void *, unsigned long long, struct id);
static void (*frame_submit_v3)(const struct domain *, struct id *, unsigned long long,
			       unsigned long long);
static void (*marker_ex)(const struct domain *, void *, unsigned long long, struct id,
			 struct string *, int);
static void (*counter_set_value_ex)(void *, void *, unsigned long long, void *);
static void *(*clock_domain_create)(void *, void *);
static unsigned long long (*get_timestamp)(void);
static void (*sync_prepare)(void *), (*never)(void);

static void null_function(void)
{
}

#define API(name, null)                                                                            \
	{                                                                                          \
		"__itt_" #name, (void **)&name, NULL, null, -1                                     \
	}

static struct api apis[] = {
    API(domain_create, NULL),
    API(string_handle_create, NULL),
    API(task_begin, NULL),
    API(task_end, NULL),
    API(task_begin_overlapped, NULL),
    API(task_end_overlapped, NULL),
    API(frame_begin_v3, NULL),
    API(frame_end_v3, NULL),
    API(marker, NULL),
    API(event_create, NULL),
    API(event_start, NULL),
    API(event_end, NULL),
    API(counter_create, NULL),
    API(counter_create_typed, NULL),
    API(counter_set_value, NULL),
    API(counter_inc_delta, NULL),
    {"__itt_pause", (void **)&itt_pause, NULL, NULL, 2},
    {"__itt_resume", (void **)&itt_resume, NULL, NULL, 2},
    API(thread_set_name, NULL),
    API(task_begin_ex, NULL),
    API(task_end_ex, NULL),
    API(task_begin_overlapped_ex, NULL),
    API(task_end_overlapped_ex, NULL),
    API(frame_submit_v3, NULL),
    API(marker_ex, NULL),
    API(counter_set_value_ex, NULL),
    API(clock_domain_create, NULL),
    API(get_timestamp, NULL),
    API(sync_prepare, (void *)1),
    {"__itt_never", (void **)&never, NULL, (void *)null_function, -1},
    {NULL, NULL, NULL, NULL, 0},
};

static struct {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *lib, *error_handler;
	const char **path;
	struct api *apis;
	void *next[8];
} global = {.magic = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30},
	    .major = 3,
	    .mutex = PTHREAD_MUTEX_INITIALIZER,
	    .apis = apis};

/* What the program's part made before it loaded the library. */
static struct domain early = {.flags = 1, .name = "early"};

static struct domain *app;
static struct id two = {2, 2, 0};

static void *end_frame(void *arg)
{
	frame_end_v3(app, NULL);
	return arg;
}

static void *end_two(void *arg)
{
	task_end_overlapped(app, two);
	return arg;
}

static void run_elsewhere(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}

/* Marks with times: in order, of before another mark (left out), of another clock (left out), with
 * ends that are moved. */
static void mark_times(void)
{
	struct id none = {0}, three = {3, 3, 0};
	struct domain *d = domain_create("t");
	void *clock = clock_domain_create(NULL, NULL), *counter = counter_create("value", "t");
	unsigned long long t0 = get_timestamp(), t1, t2;
	uint64_t five = 5;

	t1 = get_timestamp();
	usleep(20000);
	t2 = get_timestamp();
	task_begin_ex(d, NULL, t0, none, none, string_handle_create("past"));
	marker_ex(d, NULL, t1, none, string_handle_create("within"), 1);
	task_end_ex(d, NULL, t2);
	frame_submit_v3(d, NULL, t2, get_timestamp());
	task_begin(d, none, none, string_handle_create("now"));
	task_begin_ex(d, NULL, t1, none, none, string_handle_create("too late"));
	task_begin_ex(d, clock, 17, none, none, string_handle_create("other clock"));
	task_end_ex(d, clock, 18);
	task_end_ex(d, NULL, t2);
	marker(d, none, string_handle_create("still"), 1);
	usleep(300000);
	task_end_ex(d, NULL, t2); /* of "now": it ends with the marker */
	task_begin_overlapped_ex(d, NULL, get_timestamp(), three, none,
				 string_handle_create("three"));
	counter_set_value_ex(counter, NULL, get_timestamp(), &five);
	counter_set_value_ex(counter, clock, get_timestamp(), &five);
	task_end_overlapped_ex(d, NULL, get_timestamp(), three);
	marker_ex(d, NULL, get_timestamp() + 1000000000000, none, string_handle_create("future"),
		  1);
}

int main(int argc, char **argv)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void (*init)(void *, int) = NULL;
	void *counter, *other;
	struct domain *d;
	struct string *text;
	struct id none = {0}, one = {1, 2, 0};
	double half = 3.5;
	uint64_t big = 41;
	int event;

	global.lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	if (global.lib)
		*(void **)&init = dlsym(global.lib, "__itt_api_init");
	if (init)
		init(&global, -1);
	if (!domain_create) {
		printf("no tool\n");
		return 7;
	}
	if (argc > 1 && strcmp(argv[1], "times") == 0) {
		mark_times();
		return 7;
	}
	printf("null %d %d\n", sync_prepare == (void (*)(void *))1, never == null_function);
	d = domain_create("app");
	text = string_handle_create("load");
	printf("same %d %d, flags %d, %s %s\n", d == domain_create("app"),
	       text == string_handle_create("load"), d->flags, d->name, text->text);
	thread_set_name("main one");
	task_begin(d, none, none, text);
	task_begin(&early, none, none, string_handle_create("parse"));
	task_end(&early);
	task_end(d);
	task_end(d); /* there is none */
	task_begin_overlapped(d, one, none, string_handle_create("one"));
	task_begin_overlapped(d, two, none, string_handle_create("two"));
	task_end_overlapped(d, one);
	task_end_overlapped(d, two);
	app = d;
	run_elsewhere(end_frame); /* which has not begun: the next one is another */
	frame_begin_v3(d, NULL);
	run_elsewhere(end_two);
	frame_end_v3(d, NULL);
	marker(d, none, string_handle_create("here"), 1);
	event = event_create("event", 5);
	event_start(event);
	event_start(event); /* without an end of the one before */
	event_end(event);
	event_start(event + 1000); /* there is none */
	counter = counter_create("bytes", "app");
	other = counter_create_typed("ratio", NULL, 8);
	counter_inc_delta(counter, 40);
	counter_inc_delta(counter, 2);
	counter_set_value(counter, &big);
	counter_inc_delta(counter, 1);
	counter_set_value(other, &half);
	itt_pause();
	itt_resume();
	return 7;
}
