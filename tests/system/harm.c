/* What test_agent_harm.py runs: programs that limit or confine themselves, and call wrongly. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile keep;
static char **arguments;

static long number(int i)
{
	return strtol(arguments[i], NULL, 10);
}

static void allocate(void)
{
	for (int i = 0; i < 50; i++) {
		keep = malloc(9000 + (size_t)i * 1000);
		free(keep);
	}
}

static void *thread(void *arg)
{
	allocate();
	return arg;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* NUMBER ANSWER HOW: all but one system call. */
static void install(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number(0), 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, (unsigned)strtoul(arguments[1], NULL, 0)),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {4, code};
	int rc;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (strcmp(arguments[2], "prctl") == 0)
		rc = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	else if (strcmp(arguments[2], "call") == 0)
		rc = (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	else
		rc = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	if (rc)
		_exit(77);
}

/* What children end with is printed at once: this process may be killed, too. */
static int filtered(void)
{
	pthread_t id;
	pid_t pid;

	setvbuf(stdout, NULL, _IONBF, 0);
	install();
	allocate();
	if (pthread_create(&id, NULL, thread, NULL) == 0)
		pthread_join(id, NULL);
	pid = fork();
	if (!pid) {
		allocate();
		_exit(0);
	}
	printf("fork %x\n", wait_for(pid));
	pid = fork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	printf("exec %x\n", wait_for(pid));
	pid = vfork(); /* NOLINT: how it goes is tested */
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	printf("vfork %x\n", wait_for(pid));
	return 0;
}

/* What it has of so many MiB: set by itself, or before. */
static int limited(void)
{
	const rlim_t bytes = (rlim_t)number(0) << 20;
	const struct rlimit limit = {bytes, bytes};
	int mib = 0;

	allocate();
	if (arguments[1] && strcmp(arguments[1], "prlimit") == 0)
		prlimit(0, RLIMIT_AS, &limit, NULL);
	else if (arguments[1])
		setrlimit(RLIMIT_AS, &limit);
	for (int i = 0; i < 20000; i++)
		keep = malloc(100);
	while (malloc(1 << 20))
		mib++;
	printf("%d\n", mib);
	return 0;
}

/* What each call answers that has a pointer to nothing. */
static int wrong(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *true_[] = {"true", NULL}, *nowhere = (char *)8, *to_nowhere[] = {nowhere, NULL};
	char **endless = (char **)(page + 4096) - 1;
	char *const *const lists[] = {(char **)nowhere, to_nowhere, endless, (char **)1};
	pid_t pid;

	munmap(page + 4096, 4096);
	*endless = "A=1";
	for (int i = 0; i < 4; i++) {
		printf("%d ", execve("/bin/true", true_, lists[i]));
		printf("%d ", errno);
		printf("%d ", execve("/bin/true", lists[i], environ));
		printf("%d ", errno);
		printf("%d ", execvpe("true", true_, lists[i]));
		printf("%d ", errno);
		printf("%d ", (int)posix_spawn(&pid, "/bin/true", NULL, NULL, true_, lists[i]));
		printf("%d ", fexecve(0, true_, lists[i]));
		printf("%d\n", errno);
	}
	for (int i = 0; i < 2; i++) {
		const char *path = i ? nowhere : page + 4096;

		printf("%d ", execve(path, true_, environ));
		printf("%d ", errno);
		printf("%d ", execv(path, true_));
		printf("%d ", errno);
		printf("%d ", execveat(-1, path, true_, environ, 0x1000));
		printf("%d ", errno);
		printf("%d\n", posix_spawn(&pid, path, NULL, NULL, true_, environ));
	}
	printf("%d ", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nowhere, 0, 0));
	printf("%d ", errno);
	printf("%ld ", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nowhere));
	printf("%d ", errno);
	printf("%d ", setrlimit(RLIMIT_AS, (struct rlimit *)nowhere));
	printf("%d ", errno);
	printf("%ld ", syscall(-1L));
	printf("%d\n", errno);
	return 0;
}

/* Where the agent is, and a thread, for which libc allocates. */
static int threaded(void)
{
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "r");
	pthread_t id;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "libcpuperf-agent"))
			fputs(line, stdout);
	if (f)
		fclose(f);
	pthread_create(&id, NULL, thread, NULL);
	pthread_join(id, NULL);
	return 0;
}

/* A program with an environment of its own: how it is executed, and the program. */
static int owned(void)
{
	char *const argv[] = {arguments[1], NULL}, *const own[] = {"OWN=1", NULL};
	char *const none[] = {NULL};
	pid_t pid;

	allocate();
	if (strcmp(arguments[0], "empty") == 0)
		execve(argv[0], argv, none);
	else if (strcmp(arguments[0], "null") == 0)
		syscall(SYS_getpid), execve(argv[0], argv, NULL);
	else if (strcmp(arguments[0], "execle") == 0)
		execle(argv[0], argv[0], NULL, own);
	else if (strcmp(arguments[0], "spawn") == 0) {
		posix_spawn(&pid, argv[0], NULL, NULL, argv, own);
		return wait_for(pid) >> 8;
	} else if (strcmp(arguments[0], "cleared") == 0) {
		clearenv();
		execv(argv[0], argv);
	} else if (strcmp(arguments[0], "forked") == 0) {
		unsetenv("CPUPERF_HEAP");
		pid = fork();
		if (!pid) {
			allocate();
			_exit(7);
		}
		return wait_for(pid) >> 8;
	} else if (strcmp(arguments[0], "vfork") == 0) {
		pid = vfork(); /* NOLINT: how it goes is tested */
		if (!pid) {
			execve(argv[0], argv, own);
			_exit(98);
		}
		return wait_for(pid) >> 8;
	} else if (strcmp(arguments[0], "many") == 0) {
		static char *variables[6001], texts[6000][16];

		for (int i = 0; i < 6000; i++) {
			snprintf(texts[i], sizeof(texts[i]), "V%d=x", i);
			variables[i] = texts[i];
		}
		execve(argv[0], argv, variables);
	}
	return 99;
}

/* Prints how many large mappings a dump would have. */
static int dumped(void)
{
	unsigned long kb = 0, nr = 0;
	char line[512];
	FILE *f;

	allocate();
	f = fopen("/proc/self/smaps", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Size:", 5) == 0)
			kb = strtoul(line + 5, NULL, 10);
		if (strncmp(line, "VmFlags:", 8) == 0)
			nr += kb > 65536 && !strstr(line, " dd ");
	}
	printf("%lu\n", nr);
	return f ? fclose(f) : 9;
}

/* Prints how much memory is locked. */
static int locked(void)
{
	char line[512];
	int rc;
	FILE *f;

	allocate();
	rc = mlockall(MCL_CURRENT | MCL_FUTURE);
	f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmLck:", 6) == 0)
			printf("%d %lu\n", rc, strtoul(line + 6, NULL, 10));
	return f ? fclose(f) : 9;
}

/* The counter of cycles is forbidden, by itself or with all calls but four. */
static int clocked(void)
{
	keep = malloc(5000);
	if (strcmp(arguments[0], "strict") == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		return 77;
	free(keep);
	allocate();
	syscall(SYS_exit, 4);
	return 5;
}

static __attribute__((noinline)) int recurse(long left)
{
	keep = malloc(16);
	return left ? recurse(left - 1) + 1 : 0;
}

static int deep(void)
{
	return recurse(number(0)) != number(0);
}

static int called(void)
{
	static char much[131072] = "LD_PRELOAD=";
	char *const argv[] = {"true", NULL};
	char *own[] = {much, NULL};
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	printf("fexecve %d", fexecve(fd, argv, NULL));
	printf(" %s\n", strerror(errno));
	memset(much + 11, ':', sizeof(much) - 12);
	printf("spawn %d\n", posix_spawn(&pid, "/bin/true", NULL, NULL, argv, own));
	printf("exit %x\n", wait_for(pid));
	fflush(stdout);
	execve("/bin/true", argv, own);
	return errno;
}

/* Of memory that no allocator has: a wrong size is before it. */
static int freed(void)
{
	static char bytes[256] __attribute__((aligned(64)));

	keep = malloc(100);
	memset(bytes, 0x41, sizeof(bytes));
	free(bytes + 64); /* NOLINT: it is wrong */
	return 0;
}

/* The size of RLIMIT_DATA leaves as much as without. */
static int limited_data(void)
{
	struct rlimit limit = {64 << 20, 64 << 20};
	int nr = 0;

	setrlimit(RLIMIT_DATA, &limit);
	while (nr < 1000 && mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0) != MAP_FAILED)
		nr++;
	printf("%d\n", nr > 50);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} table[] = {{"filtered", filtered}, {"limited", limited}, {"wrong", wrong},
		     {"threaded", threaded}, {"owned", owned},     {"dumped", dumped},
		     {"locked", locked},     {"clocked", clocked}, {"deep", deep},
		     {"called", called},     {"freed", freed},     {"limited_data", limited_data}};

	arguments = argv + 2;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (argc > 1 && strcmp(table[i].name, argv[1]) == 0)
			return table[i].run();
	return 2;
}
