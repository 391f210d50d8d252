/*
 * What serve/http.c uses of it. Its archive calls GnuTLS, whose own archive lacks others; nothing
 * here is served by TLS, so the calls lead to functions that end the program. The first two are
 * called without TLS, too.
 */
#include "linked/linked.h"

#include "base/array.h"

#include <stddef.h>

int gnutls_global_init(void);
void gnutls_global_deinit(void);

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}

extern void *(*gnutls_malloc)(size_t size);
void *(*gnutls_malloc)(size_t size);

#define NEVER(name)                                                                                \
	__attribute__((noreturn)) void gnutls_##name(void);                                        \
	void gnutls_##name(void)                                                                   \
	{                                                                                          \
		__builtin_trap();                                                                  \
	}
NEVER(alpn_set_protocols)
NEVER(bye)
NEVER(certificate_allocate_credentials)
NEVER(certificate_free_credentials)
NEVER(certificate_server_set_request)
NEVER(certificate_set_dh_params)
NEVER(certificate_set_retrieve_function2)
NEVER(certificate_set_retrieve_function3)
NEVER(certificate_set_x509_key_mem)
NEVER(certificate_set_x509_key_mem2)
NEVER(certificate_set_x509_trust_mem)
NEVER(cipher_get)
NEVER(credentials_set)
NEVER(deinit)
NEVER(dh_params_deinit)
NEVER(dh_params_import_pkcs3)
NEVER(dh_params_init)
NEVER(handshake)
NEVER(init)
NEVER(priority_deinit)
NEVER(priority_init)
NEVER(priority_set)
NEVER(protocol_get_version)
NEVER(psk_allocate_server_credentials)
NEVER(psk_free_server_credentials)
NEVER(psk_set_server_credentials_function)
NEVER(record_check_pending)
NEVER(record_get_direction)
NEVER(record_recv)
NEVER(record_send)
NEVER(session_get_ptr)
NEVER(session_set_ptr)
NEVER(strerror)
NEVER(transport_set_int2)

#define FUNCTIONS(X)                                                                               \
	X(MHD_start_daemon)                                                                        \
	X(MHD_stop_daemon)                                                                         \
	X(MHD_add_connection)                                                                      \
	X(MHD_queue_response)                                                                      \
	X(MHD_create_response_from_buffer_with_free_callback)                                      \
	X(MHD_add_response_header)                                                                 \
	X(MHD_destroy_response)                                                                    \
	X(MHD_lookup_connection_value)                                                             \
	X(MHD_get_connection_values)                                                               \
	X(MHD_get_connection_info)
#define DECLARE(symbol) extern void symbol(void);
FUNCTIONS(DECLARE)

#define ROW(symbol) LINKED_FUNCTION(symbol),
static const struct linked_function functions[] = {FUNCTIONS(ROW)};

const struct linked_library linked_microhttpd = {"libmicrohttpd.so.", functions,
						 ARRAY_NR(functions)};
