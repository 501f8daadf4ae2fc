/* Counts the system calls that change files below a folder, and makes the N-th of them fail, or end the process.

   To be preloaded. fault_arm(folder, at, kind) begins to count, fault_disarm() ends it; fault_fired() says how many
   calls were touched. A call counts where its file, or the descriptor's, lies below the folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* One call fails; all from there on fail; none from there on gets room; the process ends before the call; it ends
   when half of a write was written. */
enum { NONE, FAILS, DEAD, FULL, KILLED, TORN };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static int kind, at, calls, fired;

void fault_arm(const char *under, int number, int what) {
    pthread_mutex_lock(&gate);
    snprintf(folder, sizeof folder, "%s/", under);
    at = number, kind = what, calls = fired = 0;
    pthread_mutex_unlock(&gate);
}

void fault_disarm(void) {
    pthread_mutex_lock(&gate);
    kind = NONE;
    pthread_mutex_unlock(&gate);
}

int fault_fired(void) { return fired; }
int fault_calls(void) { return calls; }

static int below(int directory, const char *path) {
    char link[64], full[PATH_MAX];
    if (path && path[0] == '/') return !strncmp(path, folder, strlen(folder));
    if (directory == AT_FDCWD) return 0; /* the tests use no relative paths */
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, full, sizeof full - 1);
    if (length < 0) return 0;
    full[length] = 0;
    return !strncmp(full, folder, strlen(folder) - 1);
}

/* What is to be done to this call: 0 nothing, an errno, or -1: write half of it. */
static int verdict(int directory, const char *path, int grows, int writes) {
    if (kind == NONE || !below(directory, path)) return 0;
    int result = 0;
    pthread_mutex_lock(&gate);
    if (kind != NONE && (++calls == at || (calls > at && (kind == DEAD || kind == FULL)))) {
        if (kind == KILLED || (kind == TORN && !writes)) kill(getpid(), SIGKILL);
        if (kind == FAILS || kind == DEAD) result = EIO;
        if (kind == FULL && grows) result = writes && calls == at ? -1 : ENOSPC;
        if (kind == TORN) result = -1;
        fired += result != 0 || calls == at;
    }
    pthread_mutex_unlock(&gate);
    return result;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define REFUSE(v) do { if ((v) > 0) { errno = (v); return -1; } } while (0)

static ssize_t half(ssize_t written) {
    if (kind == TORN) kill(getpid(), SIGKILL);
    return written;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    int v = verdict(fd, NULL, 1, size > 1);
    REFUSE(v);
    return v ? half(real(fd, data, size / 2)) : real(fd, data, size);
}

#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) { \
        REAL(name); \
        int v = verdict(fd, NULL, 1, size > 1); \
        REFUSE(v); \
        return v ? half(real(fd, data, size / 2, offset)) : real(fd, data, size, offset); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define PLAIN(result, name, parameters, arguments, directory, path, grows) \
    result name parameters { \
        REAL(name); \
        int v = verdict(directory, path, grows, 0); \
        REFUSE(v); \
        return real arguments; \
    }
PLAIN(int, fsync, (int fd), (fd), fd, NULL, 0)
PLAIN(int, fdatasync, (int fd), (fd), fd, NULL, 0)
PLAIN(int, ftruncate, (int fd, off_t size), (fd, size), fd, NULL, 0)
PLAIN(int, ftruncate64, (int fd, off64_t size), (fd, size), fd, NULL, 0)
PLAIN(int, rename, (const char *a, const char *b), (a, b), AT_FDCWD, a, 0)
PLAIN(int, renameat, (int da, const char *a, int db, const char *b), (da, a, db, b), da, a, 0)
PLAIN(int, unlink, (const char *path), (path), AT_FDCWD, path, 0)
PLAIN(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), fd, path, 0)
PLAIN(int, rmdir, (const char *path), (path), AT_FDCWD, path, 0)
PLAIN(int, link, (const char *a, const char *b), (a, b), AT_FDCWD, b, 1)
PLAIN(int, linkat, (int da, const char *a, int db, const char *b, int f), (da, a, db, b, f), db, b, 1)
PLAIN(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, 1)
PLAIN(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), fd, path, 1)

/* Opening counts where it may make the file. */
#define OPEN(name, parameters, arguments, directory) \
    int name parameters { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } \
        int v = flags & O_CREAT ? verdict(directory, path, access(path, F_OK) != 0, 0) : 0; \
        REFUSE(v); \
        return real arguments; \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int fd, const char *path, int flags, ...), (fd, path, flags, mode), fd)
OPEN(openat64, (int fd, const char *path, int flags, ...), (fd, path, flags, mode), fd)
