/*
 * Any bytes as a receiver's answer: judged, and what is said of it is safe to show. The first byte
 * chooses the interface, the second the status.
 */
#include "push/answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void judge(enum push_protocol protocol, long status, const char *type, const char *body,
		  size_t len)
{
	struct push_answer a = {.status = status, .body = body, .body_bytes = len};
	enum push_outcome outcome;

	memcpy(a.type, type, strlen(type) + 1);
	outcome = push_answer_judge(protocol, &a);
	require(outcome < PUSH_NR_OUTCOMES);
	require((outcome == PUSH_SENT) == !*a.why);
	require(strnlen(a.why, sizeof(a.why)) < sizeof(a.why));
	for (const char *c = a.why; *c; c++)
		require((unsigned char)*c >= ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const long statuses[] = {200, 204, 302, 400, 408, 429, 500};
	static const char *const types[] = {"application/x-protobuf", "application/json",
					    "text/plain", ""};
	enum push_protocol protocol;
	long status;
	const char *type, *message;
	size_t message_bytes;
	int64_t rejected;
	char *body;

	if (size < 2)
		return 0;
	protocol = (enum push_protocol)(data[0] % PUSH_NR_PROTOCOLS);
	type = types[data[0] / PUSH_NR_PROTOCOLS % 4];
	status = statuses[data[1] % 7];
	body = malloc(size); /* of exactly its size, so that reading beyond it is seen */
	require(body != NULL);
	memcpy(body, data + 2, size - 2);
	judge(protocol, status, type, body, size - 2);
	if (push_answer_rejected(body, size - 2, &rejected, &message, &message_bytes) == 0 &&
	    message_bytes)
		require(message >= body && message + message_bytes <= body + size - 2);
	free(body);
	return 0;
}
