/* Captures TLS secrets when programs make them. A uprobe is at the function of a TLS library that would write a key
 * log, whether or not the program asked for one. Each event has the content of a key log line.
 *
 * User space does not trust the data that a process passes: it accepts only known labels and lengths. The events of a
 * process and the size of the ring are limited, so that no process can crowd out the others. Dropped events are
 * counted.
 */
#include <linux/bpf.h>
#ifndef SEALANE_ARM64
#include <linux/ptrace.h>
#endif

#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

#define RANDOM 32
#define SECRET_MAX 48
#define LABEL_MAX 40       /* CLIENT_HANDSHAKE_TRAFFIC_SECRET has 31 characters */
#define PERIOD 100000000   /* nanoseconds */
#define EVENTS_MAX 4096    /* of one process in a period: 8,000 handshakes of TLS 1.3 in a second */
#define PROCESSES_MAX 4096 /* with a budget of their own */

struct event {
    u32 process;
    u8 label_bytes, secret_bytes, unused[2];
    u8 label[LABEL_MAX], random[RANDOM], secret[SECRET_MAX];
};

/* Which function it is. */
enum kind {
    GO,      /* Go since 1.17, (*Config).writeKeyLog(label string, random, secret []byte) */
    OPENSSL, /* nss_keylog_int(label, ssl, random, bytes, secret, bytes) */
    SESSION, /* f(session, label, secret, bytes); the random lies in the session, at random_at */
    POINTER, /* the same; the random lies at random_at in the object that the session points to at pointer_at */
};

volatile const u32 kind, random_at, pointer_at;
volatile const u32 grouped; /* 1: only processes of the cgroup count */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(key_size, 4);
    __uint(value_size, 4);
    __uint(max_entries, 1);
} cgroup SEC(".maps");

struct budget {
    u64 begin; /* of the period */
    u64 spent;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, PROCESSES_MAX);
    __type(key, u32);
    __type(value, struct budget);
} budgets SEC(".maps");

enum count { SENT, UNREADABLE, OVER_BUDGET, FULL, COUNTS };

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, COUNTS);
    __type(key, u32);
    __type(value, u64);
} counts SEC(".maps");

static void count(u32 what)
{
    u64 *n = bpf_map_lookup_elem(&counts, &what);
    if (n)
        ++*n;
}

/* Threads of a process may race here; then it has a few events more or less. */
static int affords(u32 process)
{
    u64 now = bpf_ktime_get_ns();
    struct budget *b = bpf_map_lookup_elem(&budgets, &process);
    if (!b) {
        struct budget first = {now, 1};
        bpf_map_update_elem(&budgets, &process, &first, BPF_ANY);
        return 1;
    }
    if (now - b->begin > PERIOD) {
        b->begin = now;
        b->spent = 0;
    }
    return __sync_fetch_and_add(&b->spent, 1) < EVENTS_MAX;
}

#ifdef SEALANE_ARM64
struct registers { /* as struct user_pt_regs begins */
    u64 x[31];
};
#else
#define registers pt_regs
#endif

SEC("uprobe")
int sealane_keys(volatile struct registers *r)
{ /* volatile, or the compiler computes addresses that the verifier refuses */
    if (grouped && bpf_current_task_under_cgroup(&cgroup, 0) != 1)
        return 0;
        /* Arguments of functions of C, and of Go's method after its receiver: a slice has three words. */
#ifdef SEALANE_ARM64
    u64 c0 = r->x[0], c1 = r->x[1], c2 = r->x[2], c3 = r->x[3], c4 = r->x[4], c5 = r->x[5];
    u64 g1 = c1, g2 = c2, g3 = c3, g4 = c4, g6 = r->x[6], g7 = r->x[7];
#else
    u64 c0 = r->rdi, c1 = r->rsi, c2 = r->rdx, c3 = r->rcx, c4 = r->r8, c5 = r->r9;
    u64 g1 = r->rbx, g2 = c3, g3 = c0, g4 = c1, g6 = c5, g7 = r->r10;
#endif
    u64 label, label_bytes = 0, random, random_bytes = RANDOM, secret, secret_bytes;
    switch (kind) {
    case GO:
        label = g1, label_bytes = g2;
        random = g3, random_bytes = g4;
        secret = g6, secret_bytes = g7;
        break;
    case OPENSSL:
        label = c0;
        random = c2, random_bytes = c3;
        secret = c4, secret_bytes = c5;
        break;
    default:
        label = c1;
        random = c0 + random_at;
        secret = c2, secret_bytes = (u32)c3;
    }
    if (kind == POINTER) {
        random = 0; /* nothing is there, if the pointer cannot be read */
        bpf_probe_read_user(&random, sizeof random, (void *)(c0 + pointer_at));
        random += random_at;
    }
    if (random_bytes != RANDOM)
        return 0; /* of another kind: the encrypted premaster secret of RSA */
    u32 process = bpf_get_current_pid_tgid() >> 32;
    if (!affords(process)) {
        count(OVER_BUDGET);
        return 0;
    }
    struct event *e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
    if (!e) {
        count(FULL);
        return 0;
    }
    e->process = process;
    __builtin_memset(e->unused, 0, sizeof e->unused);
    __builtin_memset(e->label, 0, LABEL_MAX);
    __builtin_memset(e->secret, 0, SECRET_MAX);
    long failed;
    if (kind == GO) {
        if (label_bytes > LABEL_MAX)
            goto unreadable;
        failed = bpf_probe_read_user(e->label, label_bytes, (void *)label);
    } else {
        long n = bpf_probe_read_user_str(e->label, LABEL_MAX, (void *)label);
        failed = n <= 0;
        label_bytes = n - 1;
    }
    if (failed || secret_bytes > SECRET_MAX)
        goto unreadable;
    e->label_bytes = label_bytes;
    e->secret_bytes = secret_bytes;
    if (bpf_probe_read_user(e->random, RANDOM, (void *)random) ||
        bpf_probe_read_user(e->secret, secret_bytes, (void *)secret))
        goto unreadable;
    bpf_ringbuf_submit(e, 0);
    count(SENT);
    return 0;

unreadable:
    __builtin_memset(e->secret, 0, SECRET_MAX);
    bpf_ringbuf_discard(e, 0);
    count(UNREADABLE);
    return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
