/*
 * Readers are hostile: connections, their memory and their time are limited, and what they send
 * chooses among texts alone.
 */
#include "serve/serve.h"

#include <errno.h>
#include <string.h>

#ifndef CPUPERF_HAS_SERVE

int serve_open(const char *address, struct serve **out, struct err *e)
{
	(void)out;
	err_set(e, -ENOTSUP, "%s: this cpuperf was built without libmicrohttpd", address);
	err_hint(e, "install libmicrohttpd's headers and build again");
	return -ENOTSUP;
}

void serve_close(struct serve *s)
{
	(void)s;
}

int serve_set(struct serve *s, const struct buf text[SERVE_NR_FORMS])
{
	(void)s;
	(void)text;
	return 0;
}

#else

#include "base/array.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	MAX_CONNECTIONS = 16,
	MAX_IDLE_S = 10,
	CONNECTION_BYTES = 16 << 10,
	STACK_BYTES = 256 << 10,
	BACKLOG = 16,
	HOST_BYTES = 64,
};

/* Loaded when metrics are served: with it come ten other libraries (of TLS, which is not used), for
 * which no other session should wait. */
static const char library[] = "libmicrohttpd.so.12";
#define FUNCTIONS(X)                                                                               \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(queue_response)                                                                          \
	X(create_response_from_buffer_with_free_callback)                                          \
	X(add_response_header)                                                                     \
	X(destroy_response)                                                                        \
	X(lookup_connection_value)
static struct {
#define POINTER(name) __typeof__(MHD_##name) *name;
	FUNCTIONS(POINTER)
} mhd;

static const char source[] = "--metrics-listen";

struct serve {
	struct MHD_Daemon *daemon;
	struct sockaddr_un local; /* path "": no socket in the file system */
	pthread_mutex_t lock;     /* of the texts; held only briefly */
	struct MHD_Response *text[SERVE_NR_FORMS];
	struct MHD_Response *absent, *refused, *early;
};

static int fail(struct err *e, int rc, const char *address, const char *why)
{
	return err_set_at(e, rc, source, 0, 0, "%s: %s", address, why);
}

/* Remains loaded. */
static int load(const char *address, struct err *e)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *at;
	} functions[] = {
#define PLACE(name)   {"MHD_" #name, &mhd.name},
	    FUNCTIONS(PLACE)};

	for (size_t i = 0; i < ARRAY_NR(functions); i++) {
		void *function = handle ? dlsym(handle, functions[i].name) : NULL;

		if (!function) {
			fail(e, -ENOTSUP, address, dlerror());
			err_hint(e, "install libmicrohttpd");
			return -ENOTSUP;
		}
		memcpy(functions[i].at, &function, sizeof(function));
	}
	return 0;
}

/* --- answers --------------------------------------------------------------------------------- */

static struct MHD_Response *make(const char *text, size_t len, const char *type)
{
	char *copy = mem_alloc(len + 1);
	struct MHD_Response *r;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	r = mhd.create_response_from_buffer_with_free_callback(len, copy, mem_free);
	if (!r)
		mem_free(copy);
	else if (mhd.add_response_header(r, "Content-Type", type) != MHD_YES ||
		 mhd.add_response_header(r, "X-Content-Type-Options", "nosniff") != MHD_YES) {
		mhd.destroy_response(r);
		r = NULL;
	}
	return r;
}

static struct MHD_Response *make_note(const char *text)
{
	return make(text, strlen(text), "text/plain; charset=utf-8");
}

static enum serve_form form_of(struct MHD_Connection *c)
{
	const char *accept = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Accept");

	return accept && strstr(accept, "application/openmetrics-text") ? SERVE_OPENMETRICS
									: SERVE_CLASSIC;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **state)
{
	struct serve *s = arg;
	struct MHD_Response *text;
	enum MHD_Result done;

	(void)version;
	(void)upload;
	if (!*state) { /* the head of the request: answered after what follows, the connection stays
			*/
		*state = s;
		return MHD_YES;
	}
	if (*upload_bytes) {
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return mhd.queue_response(c, MHD_HTTP_METHOD_NOT_ALLOWED, s->refused);
	if (strcmp(url, "/metrics") != 0)
		return mhd.queue_response(c, MHD_HTTP_NOT_FOUND, s->absent);
	pthread_mutex_lock(&s->lock);
	text = s->text[form_of(c)];
	done = text ? mhd.queue_response(c, MHD_HTTP_OK, text)
		    : mhd.queue_response(c, MHD_HTTP_SERVICE_UNAVAILABLE, s->early);
	pthread_mutex_unlock(&s->lock);
	return done;
}

int serve_set(struct serve *s, const struct buf text[SERVE_NR_FORMS])
{
	static const char *const types[] = {
	    [SERVE_CLASSIC] = "text/plain; version=0.0.4; charset=utf-8",
	    [SERVE_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8"};
	struct MHD_Response *made[SERVE_NR_FORMS] = {NULL}, *before;
	bool is_whole = true;

	for (int i = 0; i < SERVE_NR_FORMS; i++) {
		made[i] = make(buf_str(&text[i]), text[i].len, types[i]);
		is_whole &= made[i] != NULL;
	}
	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < SERVE_NR_FORMS && is_whole; i++) {
		before = s->text[i];
		s->text[i] = made[i];
		made[i] = before;
	}
	pthread_mutex_unlock(&s->lock);
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		if (made[i])
			mhd.destroy_response(made[i]);
	return is_whole ? 0 : -ENOMEM;
}

/* --- the socket ------------------------------------------------------------------------------ */

static int listen_at(const struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (address->sa_family != AF_UNIX)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, address, len) || listen(fd, BACKLOG)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

/* A socket at which nobody listens remains of a session that was killed. */
static void remove_stale(const struct sockaddr_un *local)
{
	const struct sockaddr *address = (const void *)local;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd >= 0 && lstat(local->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_uid == geteuid() && connect(fd, address, sizeof(*local)) && errno == ECONNREFUSED)
		(void)unlink(local->sun_path);
	io_close(&fd);
}

static bool is_socket(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Its user alone may connect. */
static int listen_locally(struct serve *s, const char *path, const char *address, struct err *e)
{
	mode_t mask;
	int fd;

	s->local.sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(s->local.sun_path))
		return fail(e, -EINVAL, address, "the path is empty or too long");
	snprintf(s->local.sun_path, sizeof(s->local.sun_path), "%s", path);
	remove_stale(&s->local);
	mask = umask(0177);
	fd = listen_at((const void *)&s->local, sizeof(s->local));
	umask(mask);
	if (fd >= 0)
		return fd;
	s->local.sun_path[0] = '\0';
	fail(e, fd, address, strerror(-fd));
	if (fd == -EADDRINUSE)
		err_hint(e, "%s",
			 is_socket(path)
			     ? "another program listens there"
			     : "it is there, and is no socket: name another path, or remove it");
	return fd;
}

/* "PORT", "HOST:PORT", "[HOST]:PORT". */
static int divide(const char *address, char host[HOST_BYTES], const char **port)
{
	const char *colon = strrchr(address, ':'), *begin = address, *end = colon;
	uint64_t number;

	*port = colon ? colon + 1 : address;
	if (str_parse_u64(*port, &number) || number > UINT16_MAX)
		return -EINVAL;
	if (!colon) {
		snprintf(host, HOST_BYTES, "127.0.0.1");
		return 0;
	}
	if (*begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	}
	if (end <= begin || end - begin >= HOST_BYTES)
		return -EINVAL;
	snprintf(host, HOST_BYTES, "%.*s", (int)(end - begin), begin);
	return 0;
}

static int listen_remotely(const char *address, struct err *e)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *found = NULL;
	char host[HOST_BYTES];
	const char *port;
	int fd;

	if (divide(address, host, &port) || getaddrinfo(host, port, &hints, &found)) {
		fail(e, -EINVAL, address,
		     "is not PORT, HOST:PORT with a numeric host, or unix:PATH");
		err_hint(e, "for example %s", SERVE_DEFAULT_ADDRESS);
		return -EINVAL;
	}
	fd = listen_at(found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return fd < 0 ? fail(e, fd, address, strerror(-fd)) : fd;
}

/* The thread leaves signals to those that wait for them. */
static struct MHD_Daemon *start(struct serve *s, int fd)
{
	struct MHD_Daemon *daemon;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	daemon = mhd.start_daemon(
	    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, answer, s,
	    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)MAX_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)CONNECTION_BYTES, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
	    MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return daemon;
}

int serve_open(const char *address, struct serve **out, struct err *e)
{
	static const char unix_prefix[] = "unix:";
	const size_t len = sizeof(unix_prefix) - 1;
	struct serve *s;
	int fd = load(address, e);

	if (fd)
		return fd;
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	pthread_mutex_init(&s->lock, NULL);
	fd = strncmp(address, unix_prefix, len) == 0 ? listen_locally(s, address + len, address, e)
						     : listen_remotely(address, e);
	if (fd < 0) {
		serve_close(s);
		return fd;
	}
	s->absent = make_note("there is /metrics alone\n");
	s->refused = make_note("only GET and HEAD\n");
	s->early = make_note("the first iteration has not ended\n");
	s->daemon = s->absent && s->refused && s->early ? start(s, fd) : NULL;
	if (!s->daemon) {
		close(fd);
		serve_close(s);
		return fail(e, -ENOMEM, address, "the server cannot be started");
	}
	*out = s;
	return 0;
}

void serve_close(struct serve *s)
{
	if (!s)
		return;
	if (s->daemon)
		mhd.stop_daemon(s->daemon);
	if (*s->local.sun_path)
		(void)unlink(s->local.sun_path);
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		if (s->text[i])
			mhd.destroy_response(s->text[i]);
	if (s->absent)
		mhd.destroy_response(s->absent);
	if (s->refused)
		mhd.destroy_response(s->refused);
	if (s->early)
		mhd.destroy_response(s->early);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

#endif
