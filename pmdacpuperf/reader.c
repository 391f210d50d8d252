#include "reader.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define CURL_DISABLE_DEPRECATION /* of options whose successors older libraries lack */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS = 500, URL_BYTES = 512, HTTP_OK = 200, HTTP_UNAVAILABLE = 503 };

struct reader {
	CURL *easy;
	struct curl_slist *headers;
	struct buf *text;
	char error[CURL_ERROR_SIZE];
};

static size_t add_text(char *data, size_t size, size_t nr, void *arg)
{
	struct reader *r = arg;

	buf_add(r->text, data, size * nr);
	return buf_error(r->text) ? 0 : size * nr;
}

#define SET(option, value) (rc = rc ?: curl_easy_setopt(r->easy, CURLOPT_##option, value))

static CURLcode set_options(struct reader *r, const char *address)
{
	static const char local[] = "unix:";
	const char *path =
	    strncmp(address, local, strlen(local)) == 0 ? address + strlen(local) : NULL;
	CURLcode rc = CURLE_OK;
	char url[URL_BYTES];

	snprintf(url, sizeof(url), "http://%s%s/metrics",
		 path || strchr(address, ':') ? "" : "127.0.0.1:", path ? "localhost" : address);
	if (path)
		SET(UNIX_SOCKET_PATH, path);
	SET(URL, url);
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS, (long)CURLPROTO_HTTP);
	SET(PROXY, "");
	SET(FOLLOWLOCATION, 0L);
	SET(TIMEOUT_MS, (long)TIMEOUT_MS);
	SET(HTTPHEADER, r->headers);
	SET(USERAGENT, "pmdacpuperf/" CPUPERF_VERSION);
	SET(ERRORBUFFER, r->error);
	SET(WRITEFUNCTION, add_text);
	SET(WRITEDATA, r);
	return rc;
}

int reader_open(const char *address, struct reader **out, struct err *e)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	CURLcode rc = CURLE_OUT_OF_MEMORY;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->easy = curl_global_init(CURL_GLOBAL_DEFAULT) ? NULL : curl_easy_init();
	r->headers = curl_slist_append(NULL, "Accept: application/openmetrics-text");
	if (r->easy && r->headers)
		rc = set_options(r, address);
	if (rc) {
		reader_close(r);
		return err_set(e, -EINVAL, "%s: %s", address, curl_easy_strerror(rc));
	}
	*out = r;
	return 0;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	if (r->easy)
		curl_easy_cleanup(r->easy);
	curl_slist_free_all(r->headers);
	mem_free(r);
}

int reader_get(struct reader *r, struct buf *text, struct err *e)
{
	CURLcode rc;
	long status = 0;

	buf_reset(text);
	r->text = text;
	*r->error = '\0';
	rc = curl_easy_perform(r->easy);
	(void)curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	if (rc) {
		str_disarm(r->error);
		return err_set(e, -EAGAIN, "%s",
			       buf_error(text)               ? "the text is too long"
			       : rc == CURLE_COULDNT_CONNECT ? "no session listens there"
			       : *r->error                   ? r->error
							     : curl_easy_strerror(rc));
	}
	if (status == HTTP_OK)
		return 0;
	return err_set(e, -EAGAIN,
		       status == HTTP_UNAVAILABLE ? "no iteration has ended yet"
						  : "it answers with status %ld",
		       status);
}
