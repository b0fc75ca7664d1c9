/*
 * Preloaded into the program of User-mode Linux, to replace the ptrace() of libc.
 *
 * The kernel takes the registers of a process only as a whole (PTRACE_SETREGSET of NT_X86_XSTATE is
 * EFAULT otherwise), and User-mode Linux 6.1 keeps their first 2,696 bytes: all up to AVX-512. A
 * processor with AMX has 10,688, most of them the tiles of AMX, which nothing inside uses. So this
 * function sets the bytes that User-mode Linux keeps, followed by the present ones of the process.
 *
 * Includes no headers, so that a compiler without libc's headers is enough.
 */

enum { PTRACE_PEEKTEXT = 1, PTRACE_PEEKUSER = 3 };
enum { PTRACE_GETREGSET = 0x4204, PTRACE_SETREGSET = 0x4205 };
enum { NT_X86_XSTATE = 0x202, SYS_ptrace = 101 };

struct iovec {
    void *base;
    unsigned long length;
};

extern long syscall(long number, ...);

/* One buffer is enough: the kernel inside has one processor, and sets the registers of one process at a time. */
static char whole[16384];

long ptrace(long request, long pid, void *address, void *data)
{
    struct iovec *given = data;
    struct iovec all = {whole, sizeof(whole)};
    unsigned long at;
    long word;

    /* libc returns the word that is read, whereas the system call stores it. */
    if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER)
        return syscall(SYS_ptrace, request, pid, address, &word) < 0 ? -1 : word;
    if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE)
        return syscall(SYS_ptrace, request, pid, address, data);
    if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, address, &all) < 0)
        return -1;
    for (at = 0; at < given->length && at < all.length; at++)
        whole[at] = ((char *)given->base)[at];
    return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, address, &all);
}
