/*
 * Readers are hostile: connections, their memory and their time are limited, and what they send is
 * judged by whoever answers.
 */
#include "serve/http.h"

#include <errno.h>
#include <string.h>

void http_add_address(const struct http_address *w, struct buf *out)
{
	buf_adds(out, "http://");
	if (!*w->host || w->is_any)
		buf_adds(out, "localhost");
	else
		buf_printf(out, w->is_ipv6 ? "[%s]" : "%s", w->host);
	if (*w->host)
		buf_printf(out, ":%u", w->port);
}

struct http_response *http_response_note(const char *text)
{
	return http_response_new(text, strlen(text), "text/plain; charset=utf-8");
}

bool http_response_closes(struct http_response *r)
{
	return http_response_header(r, "Connection", "close");
}

struct http_response *http_response_refusal(const char *text)
{
	struct http_response *r = http_response_note(text);

	if (r && http_response_closes(r))
		return r;
	http_response_free(r);
	return NULL;
}

#include "base/array.h"
#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/str.h"
#include "serve/door.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	MAX_IDLE_S = 10,
	STACK_BYTES = 256 << 10,
	BACKLOG = SOMAXCONN, /* they are accepted at once */
	SPARE = 16,          /* connections that the library has not yet ended */
	/* Of a connection's memory, which also has the other headers and the answer's: that of a
	 * redirect has most of the URL again. */
	URL_PART = 3,
	MAX_SEPARATORS = 2 * HTTP_MAX_ARGUMENTS,
};

/* Loaded when something is served: with it come ten other libraries (of TLS, which is not used),
 * for which nothing else should wait. */
static const char library[] = "libmicrohttpd.so.12";
#define FUNCTIONS(X)                                                                               \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(add_connection)                                                                          \
	X(queue_response)                                                                          \
	X(create_response_from_buffer_with_free_callback)                                          \
	X(add_response_header)                                                                     \
	X(destroy_response)                                                                        \
	X(lookup_connection_value)                                                                 \
	X(get_connection_values)                                                                   \
	X(get_connection_info)
static struct {
#define POINTER(name) __typeof__(MHD_##name) *name;
	FUNCTIONS(POINTER)
} mhd;

struct http {
	struct http_config config;
	struct MHD_Daemon *daemon;
	struct door *door;
	atomic_uint nr_in;        /* connections that the daemon has */
	int fd;                   /* until it is the door's */
	struct sockaddr_un local; /* path "": no socket in the file system */
	struct http_address where;
};

static int fail(const struct http *h, struct err *e, int rc, const char *address, const char *why)
{
	return err_set_at(e, rc, h->config.option, 0, 0, "%s: %s", address, why);
}

/* Remains loaded. */
static int load(const struct http *h, const char *address, struct err *e)
{
	const struct library_function functions[] = {
#define PLACE(name) {"MHD_" #name, &mhd.name},
	    FUNCTIONS(PLACE)};
	const char *why = library_load(library, functions, ARRAY_NR(functions));

	if (!why)
		return 0;
	fail(h, e, -ENOTSUP, address, why);
	err_hint(e, LIBRARY_HINT("libmicrohttpd"));
	return -ENOTSUP;
}

/* --- answers --------------------------------------------------------------------------------- */

/* A struct http_response is the library's. */
static struct MHD_Response *response_of(const struct http_response *r)
{
	return (struct MHD_Response *)(uintptr_t)r;
}

struct http_response *http_response_new(const void *text, size_t len, const char *type)
{
	char *copy = mem_alloc(len + 1);
	struct http_response *r;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	r = (struct http_response *)mhd.create_response_from_buffer_with_free_callback(len, copy,
										       mem_free);
	if (!r) {
		mem_free(copy);
	} else if (!http_response_header(r, "Content-Type", type) ||
		   !http_response_header(r, "X-Content-Type-Options", "nosniff")) {
		http_response_free(r);
		r = NULL;
	}
	return r;
}

bool http_response_header(struct http_response *r, const char *name, const char *value)
{
	return mhd.add_response_header(response_of(r), name, value) == MHD_YES;
}

void http_response_free(struct http_response *r)
{
	if (r)
		mhd.destroy_response(response_of(r));
}

bool http_reply(const struct http_request *r, unsigned status, const struct http_response *response)
{
	return mhd.queue_response(r->connection, status, response_of(response)) == MHD_YES;
}

static enum MHD_Result add_argument(void *arg, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct http_request *r = arg;

	(void)kind;
	r->has_more |= r->nr_arguments == HTTP_MAX_ARGUMENTS;
	if (!r->has_more)
		r->arguments[r->nr_arguments++] = (struct http_argument){name, value ? value : ""};
	return MHD_YES;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return mhd.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Nobody who may ask sends a body: it is not waited for. */
static bool has_body(struct MHD_Connection *c)
{
	const char *length = header(c, "Content-Length");

	return header(c, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static enum MHD_Result refuse_body(struct MHD_Connection *c)
{
	const struct http_request r = {.connection = c};
	struct http_response *response = http_response_refusal("requests have no body here\n");
	bool done = response && http_reply(&r, HTTP_BAD_REQUEST, response);

	http_response_free(response);
	return done ? MHD_YES : MHD_NO;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **state)
{
	struct http *h = arg;
	struct http_request r;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	if (!*state) { /* the head of the request: answered when it ends, so that the connection
			  stays */
		*state = h;
		return has_body(c) ? refuse_body(c) : MHD_YES;
	}
	memset(&r, 0, sizeof(r));
	r.method = method;
	r.path = url;
	r.connection = c;
	r.host = header(c, "Host");
	r.cookie = header(c, "Cookie");
	r.accept = header(c, "Accept");
	r.fetch_site = header(c, "Sec-Fetch-Site");
	(void)mhd.get_connection_values(c, MHD_GET_ARGUMENT_KIND, add_argument, &r);
	return h->config.answer(h->config.arg, &r) ? MHD_YES : MHD_NO;
}

/* Bytes that have come and are not read would reset the connection at its end, and the answer with
 * it. */
static void drop_rest(int fd)
{
	enum { MOST = 64 };
	char bytes[4096];

	for (int i = 0; i < MOST && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0; i++)
		;
}

/* Before the library parses the URL: where its memory is too small for an URL's arguments it is too
 * small for an answer, and the connection would be silent until MAX_IDLE_S. What it has sent of the
 * request before is answered, so this is the next thing that the reader waits for. */
static void *refuse_long(void *arg, const char *url, struct MHD_Connection *c)
{
	static const char refusal[] = "HTTP/1.1 414 URI Too Long\r\n"
				      "Content-Type: text/plain; charset=utf-8\r\n"
				      "Content-Length: 20\r\n"
				      "Connection: close\r\n\r\n"
				      "the URL is too long\n";
	const struct http *h = arg;
	const union MHD_ConnectionInfo *info;
	size_t len = 0, nr = 0;

	for (; url[len]; len++)
		nr += url[len] == '&' || url[len] == '?';
	if (len <= h->config.connection_bytes / URL_PART && nr <= MAX_SEPARATORS)
		return NULL;
	info = mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info) {
		(void)send(info->connect_fd, refusal, sizeof(refusal) - 1,
			   MSG_NOSIGNAL | MSG_DONTWAIT);
		drop_rest(info->connect_fd);
		(void)shutdown(info->connect_fd, SHUT_RDWR);
	}
	return NULL;
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
static int listen_locally(struct http *h, const char *path, const char *address, struct err *e)
{
	mode_t mask;
	int fd;

	h->local.sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(h->local.sun_path))
		return fail(h, e, -EINVAL, address, "the path is empty or too long");
	snprintf(h->local.sun_path, sizeof(h->local.sun_path), "%s", path);
	remove_stale(&h->local);
	mask = umask(0177);
	fd = listen_at((const void *)&h->local, sizeof(h->local));
	umask(mask);
	if (fd >= 0)
		return fd;
	h->local.sun_path[0] = '\0';
	fail(h, e, fd, address, strerror(-fd));
	if (fd == -EADDRINUSE)
		err_hint(e, "%s",
			 is_socket(path)
			     ? "another program listens there"
			     : "it is there, and is no socket: name another path, or remove it");
	return fd;
}

/* "PORT", "HOST:PORT", "[HOST]:PORT". */
static int divide(const char *address, char host[HTTP_HOST_BYTES], const char **port)
{
	const char *colon = strrchr(address, ':'), *begin = address, *end = colon;
	uint64_t number;

	*port = colon ? colon + 1 : address;
	if (str_parse_u64(*port, &number) || number > UINT16_MAX)
		return -EINVAL;
	if (!colon) {
		snprintf(host, HTTP_HOST_BYTES, "127.0.0.1");
		return 0;
	}
	if (*begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	}
	if (end <= begin || end - begin >= HTTP_HOST_BYTES)
		return -EINVAL;
	snprintf(host, HTTP_HOST_BYTES, "%.*s", (int)(end - begin), begin);
	return 0;
}

static int listen_remotely(const struct http *h, const char *address, struct err *e)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *found = NULL;
	char host[HTTP_HOST_BYTES];
	const char *port;
	int fd;

	if (divide(address, host, &port) || getaddrinfo(host, port, &hints, &found)) {
		fail(h, e, -EINVAL, address,
		     "is not PORT, HOST:PORT with a numeric host, or unix:PATH");
		err_hint(e, "for example %s", h->config.example);
		return -EINVAL;
	}
	fd = listen_at(found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return fd < 0 ? fail(h, e, fd, address, strerror(-fd)) : fd;
}

static void find_address(struct http *h)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} a;
	socklen_t len = sizeof(a);
	struct http_address *w = &h->where;

	memset(&a, 0, sizeof(a));
	*w = (struct http_address){.is_loopback = true};
	if (getsockname(h->fd, &a.any, &len))
		return;
	if (a.any.sa_family == AF_INET) {
		w->port = ntohs(a.v4.sin_port);
		w->is_loopback = ntohl(a.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
		w->is_any = a.v4.sin_addr.s_addr == htonl(INADDR_ANY);
		(void)inet_ntop(AF_INET, &a.v4.sin_addr, w->host, sizeof(w->host));
	} else if (a.any.sa_family == AF_INET6) {
		w->port = ntohs(a.v6.sin6_port);
		w->is_ipv6 = true;
		w->is_loopback = IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
		w->is_any = IN6_IS_ADDR_UNSPECIFIED(&a.v6.sin6_addr);
		(void)inet_ntop(AF_INET6, &a.v6.sin6_addr, w->host, sizeof(w->host));
	}
}

const struct http_address *http_where(const struct http *h)
{
	return &h->where;
}

int http_open(const struct http_config *config, const char *address, struct http **out,
	      struct err *e)
{
	static const char unix_prefix[] = "unix:";
	const size_t len = sizeof(unix_prefix) - 1;
	struct http *h = mem_zalloc(sizeof(*h));
	int rc;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->config = *config;
	h->fd = -1;
	rc = load(h, address, e);
	if (rc == 0)
		h->fd = strncmp(address, unix_prefix, len) == 0
			    ? listen_locally(h, address + len, address, e)
			    : listen_remotely(h, address, e);
	rc = rc ? rc : h->fd < 0 ? h->fd : 0;
	if (rc) {
		http_close(h);
		return rc;
	}
	find_address(h);
	*out = h;
	return 0;
}

/* A door_enter_fn. */
static bool enter(void *arg, int fd, const struct sockaddr *from, socklen_t len)
{
	struct http *h = arg;

	if (atomic_load(&h->nr_in) >= h->config.max_connections)
		return false;
	atomic_fetch_add(&h->nr_in, 1);
	if (mhd.add_connection(h->daemon, fd, from, len) != MHD_YES) /* it has closed it */
		atomic_fetch_sub(&h->nr_in, 1);
	return true;
}

static void notice(void *arg, struct MHD_Connection *c, void **state,
		   enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;

	(void)c;
	(void)state;
	if (what != MHD_CONNECTION_NOTIFY_CLOSED)
		return;
	atomic_fetch_sub(&h->nr_in, 1);
	door_has_room(h->door);
}

/* The threads leave signals to those that wait for them. */
int http_start(struct http *h, struct err *e)
{
	const struct door_config door = {
	    .max_head_bytes = h->config.connection_bytes, .enter = enter, .arg = h};
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	h->daemon = mhd.start_daemon(
	    /* by epoll it misses an end that came before the connection was added */
	    MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
	    answer, h, MHD_OPTION_CONNECTION_LIMIT, h->config.max_connections + SPARE,
	    MHD_OPTION_NOTIFY_CONNECTION, notice, h, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)MAX_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->config.connection_bytes,
	    MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
	    refuse_long, h, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	rc = h->daemon ? door_open(&door, h->fd, &h->door) : -ENOMEM;
	if (rc)
		return err_set_at(e, rc, h->config.option, 0, 0, "the server cannot be started: %s",
				  strerror(-rc));
	h->fd = -1;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->door)
		door_stop(h->door);
	if (h->daemon)
		mhd.stop_daemon(h->daemon);
	door_free(h->door);
	io_close(&h->fd);
	if (*h->local.sun_path)
		(void)unlink(h->local.sun_path);
	mem_free(h);
}
