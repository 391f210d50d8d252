/*
 * Names of code addresses of this process, for interfaces that name what they mark by where it is
 * called from. Of files alone: the loader's own list may be locked by a thread that waits for this
 * one.
 */
#ifndef AGENT_CODE_H
#define AGENT_CODE_H

/* "what function+0x12", of the function that calls (address is where it returns to); "what
 * file+0x1234" where no symbol has it; what alone for an address of no file. what: a literal. Kept
 * for ever. Any thread; errno stays. */
const char *agent_code_name(const char *what, const void *address);

#endif
