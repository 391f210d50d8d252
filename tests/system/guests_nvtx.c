/*
 * A minimal caller of NVTX by its published ABI (nvToolsExt.h, nvtxDetail/nvtxInit.h and
 * nvtxTypes.h, versions 2 and 3), as the header-only NVTX does it: at the first mark the library of
 * NVTX_INJECTION64_PATH is loaded, and sets the function pointers of two tables. Prints what the
 * calls return without a tool, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double d;
		uint32_t u32;
		int32_t i32;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		void *registered;
	} message;
};

typedef void (*function)(void);

static function core[16], core2[16];
static function *core_table[17], *core2_table[17];

static int get_module(int module, function ***table, unsigned *nr)
{
	if (module != 1 && module != 5)
		return 0;
	*table = module == 1 ? core_table : core2_table;
	*nr = 16;
	return 1;
}

static const struct {
	size_t size;
	int (*get)(int module, function ***table, unsigned *nr);
} callbacks = {sizeof(callbacks), get_module};

static const void *get_export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static void connect(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(const void *(*)(uint32_t)) = NULL;

	for (int i = 1; i < 16; i++) {
		core_table[i] = &core[i];
		core2_table[i] = &core2[i];
	}
	if (lib)
		*(void **)&init = dlsym(lib, "InitializeInjectionNvtx2");
	if (!init || !init(get_export_table))
		printf("no tool\n");
}

#define CALL(table, at, type, none, ...) (table[at] ? ((type)table[at])(__VA_ARGS__) : (none))

static int push(const char *text)
{
	return CALL(core, 9, int (*)(const char *), -2, text);
}

static int pop(void)
{
	return CALL(core, 11, int (*)(void), -2);
}

static struct attributes with(const char *text, int32_t payload_type, int64_t number)
{
	return (struct attributes){.version = 3,
				   .size = sizeof(struct attributes),
				   .payload_type = payload_type,
				   .payload.i64 = number,
				   .message_type = text ? 1 : 0,
				   .message.ascii = text};
}

static void *domain(const char *name)
{
	return CALL(core2, 12, void *(*)(const char *), NULL, name);
}

static int domain_push(void *d, struct attributes a)
{
	return CALL(core2, 4, int (*)(void *, const struct attributes *), -2, d, &a);
}

static int domain_pop(void *d)
{
	return CALL(core2, 5, int (*)(void *), -2, d);
}

static uint64_t start(const char *text)
{
	return CALL(core, 5, uint64_t(*)(const char *), 0, text);
}

static void end(uint64_t id)
{
	if (core[7])
		((void (*)(uint64_t))core[7])(id);
}

static void burn(void)
{
	struct timespec t;
	uint64_t until = 0, now = 0;

	while (!until || now < until) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
		until = until ? until : now + 5000000;
	}
}

static void use_domains(void)
{
	void *a = domain("library"), *same = domain("library"), *b = domain("other");
	void *text = CALL(core2, 10, void *(*)(void *, const char *), NULL, a, "registered");
	struct attributes registered = with(NULL, 0, 0);

	if (a != same)
		printf("a domain twice\n");
	registered.message_type = 3;
	registered.message.registered = text;
	domain_push(a, registered);
	domain_push(b, with("inner", 1, 17)); /* unsigned 64 */
	domain_pop(a);                        /* not the innermost */
	domain_pop(b);
	domain_pop(b); /* there is none */
}

static uint64_t crossing;

static void *end_in_thread(void *arg)
{
	if (core[14])
		((void (*)(uint32_t, const char *))core[14])((uint32_t)syscall(SYS_gettid),
							     "ender");
	end(crossing);
	return arg;
}

static void use_ranges(void)
{
	uint64_t first = start("first"), second = start("second");
	pthread_t thread;

	end(first);
	end(second);
	crossing = start("elsewhere");
	pthread_create(&thread, NULL, end_in_thread, NULL);
	pthread_join(thread, NULL);
	push("after");
	pop();
}

static void use_marks(void)
{
	struct attributes number = with("value", 2, -5), small = with("small", 5, -6),
			  wide = with(NULL, 0, 0);
	void (*mark_ex)(const struct attributes *) = (void (*)(const struct attributes *))core[1];

	if (!mark_ex)
		return;
	((void (*)(const char *))core[2])("instant");
	((void (*)(const wchar_t *))core[3])(L"wide \u00e4\u20ac\U0001f600");
	mark_ex(&number);
	mark_ex(&small);
	wide.message_type = 2;
	wide.message.unicode = L"unicode";
	mark_ex(&wide);
	wide.size = 16; /* of an older version: it has no text */
	mark_ex(&wide);
	wide.message.unicode = NULL;
	mark_ex(NULL);
}

enum { NR_THREADS = 8, NR_ROUNDS = 1000, NR_CHILDREN = 60 };

static uint64_t ranges[NR_ROUNDS];

/* All at once: the same names and new ones, and the ends of the main thread's ranges. */
static void *run_thread(void *arg)
{
	size_t me = (size_t)arg;

	for (size_t i = 0; i < NR_ROUNDS; i++) {
		char name[32];
		void *d, *text;

		snprintf(name, sizeof(name), "domain %zu", i % 8);
		d = domain(name);
		if (d != domain(name))
			printf("a domain twice\n");
		snprintf(name, sizeof(name), "text %zu", i % 100);
		text = CALL(core2, 10, void *(*)(void *, const char *), NULL, d, name);
		if (text != CALL(core2, 10, void *(*)(void *, const char *), NULL, NULL, name))
			printf("a text twice\n");
		domain_push(d, with("pushed", 2, (int64_t)i));
		if (i % NR_THREADS == me)
			end(ranges[i]);
		domain_pop(d);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[NR_THREADS];

	for (size_t i = 0; i < NR_ROUNDS; i++)
		ranges[i] = start("range");
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)i);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	push("last");
	pop();
}

static volatile sig_atomic_t nr_signals;

static void on_signal(int number)
{
	(void)number;
	end(start("handler"));
	nr_signals++;
}

/* Ranges that cross, interrupted by those of a signal handler. */
static void run_signals(void)
{
	const struct itimerval at_once = {{0, 20}, {0, 20}}, often = {{0, 200}, {0, 200}},
			       never = {{0, 0}, {0, 0}};

	signal(SIGALRM, on_signal);
	for (int i = 0; i < NR_CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			setitimer(ITIMER_REAL, &at_once, NULL);
			end(start("connects"));
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 200000 && nr_signals < 300; i++) {
		uint64_t a = start("a"), b = start("b"), c = start("c");

		end(a);
		end(c);
		end(b);
		if (i % 50 == 0)
			usleep(100);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("signals %d\n", nr_signals > 0);
}

int main(int argc, char **argv)
{
	int level;
	pid_t pid;

	connect();
	if (argc > 1 && strcmp(argv[1], "fork") != 0) {
		(strcmp(argv[1], "threads") == 0 ? run_threads : run_signals)();
		return 7;
	}
	errno = EDOM;
	level = push("outer");
	burn();
	push("inner");
	burn();
	pop();
	printf("levels %d %d, errno %d\n", level, pop(), errno == EDOM);
	use_domains();
	use_ranges();
	use_marks();
	fflush(stdout);
	if (argc > 1)
		push("open");
	pid = argc > 1 ? fork() : -1;
	if (pid == 0) {
		push("child");
		pop();
		pop();
		_exit(0);
	}
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		pop();
	}
	return 7;
}
