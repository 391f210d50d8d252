/*
 * The door of a server: whole requests are let in, however many others hold connections open.
 */
#include "kit.h"

#include "serve/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char whole[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

enum { MAX_HEAD_BYTES = 256 };

static struct {
	struct sockaddr_in address;
	atomic_bool is_full;
	atomic_uint nr_in, nr_refused, nr_wrong;
} server;

/* Answers at once. */
static bool enter(void *arg, int fd, const struct sockaddr *from, socklen_t len)
{
	char text[MAX_HEAD_BYTES + 1];

	(void)arg;
	(void)len;
	if (server.is_full) {
		server.nr_refused++;
		return false;
	}
	server.nr_in++;
	/* nothing was read */
	if (from->sa_family != AF_INET || recv(fd, text, sizeof(text), 0) <= 0 ||
	    send(fd, "x", 1, MSG_NOSIGNAL) != 1)
		server.nr_wrong++;
	close(fd);
	return true;
}

static struct door *open_door(void)
{
	const struct door_config config = {.max_head_bytes = MAX_HEAD_BYTES, .enter = enter};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(server.address);
	struct door *d;

	memset(&server, 0, sizeof(server));
	server.address =
	    (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(fd, (struct sockaddr *)&server.address, sizeof(server.address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&server.address, &len), 0);
	assert_int_equal(listen(fd, SOMAXCONN), 0);
	assert_int_equal(door_open(&config, fd, &d), 0);
	return d;
}

static void close_door(struct door *d)
{
	door_stop(d);
	door_free(d);
	assert_int_equal(server.nr_wrong, 0);
}

static int ask(const char *text, size_t len)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&server.address, sizeof(server.address)),
			 0);
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (int)len);
	return fd;
}

/* 'x', or 0 if the connection has ended without an answer. */
static int answer_of(int fd)
{
	char c = 0;
	ssize_t n = recv(fd, &c, 1, 0);

	assert_true(n >= 0 || errno == ECONNRESET);
	close(fd);
	return c;
}

TEST(heads)
{
	static const struct {
		const char *text;
		bool is_head;
	} rows[] = {
	    {"", false},
	    {"GET / HTTP/1.1\r\nHost: x\r\n", false},
	    {"GET / HTTP/1.1\r\nHost: x\r\n\r", false},
	    {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
	    {"GET / HTTP/1.1\nHost: x\n\n", true},
	    {"GET / HTTP/1.1\nHost: x\n\r\nmore", true},
	    {"\r\n\r\n\n\n", false}, /* nothing is asked yet */
	    {"\r\n\r\nGET / HTTP/1.1\r\n", false},
	    {"\r\nGET / HTTP/1.1\r\n\r\n", true},
	};

	for (size_t i = 0; i < NR(rows); i++)
		assert_int_equal(door_is_head(rows[i].text, strlen(rows[i].text)), rows[i].is_head);
}

TEST(whole_ones_do_not_wait)
{
	enum { NR_OTHERS = 3 * DOOR_MAX_WAITING };
	struct door *d = open_door();
	int others[NR_OTHERS], first, fd;

	for (size_t i = 0; i < NR_OTHERS; i++)
		others[i] = ask(whole, i % 2 * 10); /* silent ones, and begun ones */
	fd = ask(whole, sizeof(whole) - 1);
	assert_int_equal(answer_of(fd), 'x');
	/* who came last is still there, and ends its request */
	fd = others[NR_OTHERS - 1];
	assert_int_equal(send(fd, whole + 10, sizeof(whole) - 11, MSG_NOSIGNAL),
			 sizeof(whole) - 11);
	assert_int_equal(answer_of(fd), 'x');
	first = answer_of(others[0]); /* it made room */
	assert_int_equal(first, 0);
	for (size_t i = 1; i < NR_OTHERS - 1; i++)
		close(others[i]);
	close_door(d);
	assert_int_equal(server.nr_in, 2);
}

TEST(long_ones_are_let_in)
{
	struct door *d = open_door();
	char text[MAX_HEAD_BYTES];

	memset(text, 'a', sizeof(text));
	assert_int_equal(answer_of(ask(text, sizeof(text))), 'x');
	close_door(d);
}

TEST(what_will_not_be_whole_goes)
{
	struct door *d = open_door();
	int fd = ask(whole, 10);

	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(answer_of(fd), 0);
	fd = ask(whole, sizeof(whole) - 1);
	assert_int_equal(answer_of(fd), 'x');
	close_door(d);
	assert_int_equal(server.nr_in, 1);
}

TEST(there_is_room_later)
{
	struct door *d = open_door();
	int fds[3];

	server.is_full = true;
	for (size_t i = 0; i < NR(fds); i++)
		fds[i] = ask(whole, sizeof(whole) - 1);
	while (server.nr_refused < NR(fds))
		poll(NULL, 0, 1);
	server.is_full = false;
	door_has_room(d);
	for (size_t i = 0; i < NR(fds); i++)
		assert_int_equal(answer_of(fds[i]), 'x');
	close_door(d);
}

TEST(who_waits_is_sent_away_at_the_end)
{
	struct door *d = open_door();
	int fd = ask(whole, 10);

	close_door(d);
	assert_int_equal(answer_of(fd), 0);
	door_free(NULL);
}

static int open_and_close(void *arg)
{
	const struct door_config config = {.max_head_bytes = 10, .enter = enter};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), rc;
	struct door *d;

	(void)arg;
	assert_int_equal(listen(fd, 1), 0);
	rc = door_open(&config, fd, &d);
	if (rc == 0)
		close_door(d);
	else
		close(fd);
	return rc;
}

TEST(without_memory_it_is_not_opened)
{
	inject_every(open_and_close, NULL, 2, 0);
}
