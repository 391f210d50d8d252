/*
 * Stand-ins of libdl.so.2 and libpthread.so.0, to link with and never to load. Older systems have
 * functions there that newer ones have in libc.so.6: the agent names all three. And what it calls
 * by weak symbols, as it came later than 2.17, is here with no version of its name: with one the
 * loader of an older system would refuse the agent, although it does without the function.
 */
char __libc_single_threaded;

int _dl_find_object(void);
int _dl_find_object(void)
{
	return -1;
}
