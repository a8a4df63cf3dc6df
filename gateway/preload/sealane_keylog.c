/* A key log of programs with a shared OpenSSL 1.1.1 to 4, without a change of theirs:
 *
 *     LD_PRELOAD=/path/sealane_keylog.so SSLKEYLOGFILE=/path/keys.log nginx
 *
 * It intercepts SSL_new, and gives each context without a key log callback one that appends lines to SSLKEYLOGFILE.
 * The file is made with mode 0600 if it does not exist; links are not followed. If a file cannot be opened or
 * written, the program runs unchanged, without a log. Safe for threads: a line is one write to a file that is only
 * appended to.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef void callback(const SSL *, const char *line);

/* As it was when the program began: servers such as nginx clear their environment. */
static char *log_name;

__attribute__((constructor)) static void begin(void)
{
    const char *name = secure_getenv("SSLKEYLOGFILE");
    log_name = name ? strdup(name) : NULL;
}

static void append(const SSL *ssl, const char *line)
{
    (void)ssl;
    /* Opened for each line, as servers change their user and close files, and logs are rotated. */
    int f = open(log_name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (f < 0)
        return;
    struct iovec all[2] = {{(void *)line, strlen(line)}, {(void *)"\n", 1}};
    if (writev(f, all, 2) < 0) {
        /* nothing that the program should learn of */
    }
    close(f);
}

/* The function of the libssl that the program has; one that it loaded itself is not among the libraries that come next.
 */
static void *of_libssl(const char *name)
{
    static const char *const files[] = {"libssl.so.3", "libssl.so.4", "libssl.so.1.1"};
    void *f = dlsym(RTLD_NEXT, name);
    for (unsigned i = 0; !f && i < sizeof files / sizeof *files; i++) {
        void *library = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            f = dlsym(library, name);
            dlclose(library);
        }
    }
    return f;
}

SSL *SSL_new(SSL_CTX *ctx);

SSL *SSL_new(SSL_CTX *ctx)
{
    SSL *(*make)(SSL_CTX *) = (SSL * (*)(SSL_CTX *)) of_libssl("SSL_new");
    callback *(*get)(const SSL_CTX *) = (callback * (*)(const SSL_CTX *)) of_libssl("SSL_CTX_get_keylog_callback");
    void (*set)(SSL_CTX *, callback *) = (void (*)(SSL_CTX *, callback *))of_libssl("SSL_CTX_set_keylog_callback");
    if (log_name && ctx && get && set && !get(ctx))
        set(ctx, append);
    return make ? make(ctx) : NULL;
}
