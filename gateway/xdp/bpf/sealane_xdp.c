/* TLS 1.3 records with ChaCha20-Poly1305 (RFC 8446, 5.2; RFC 8439), authenticated and decrypted in XDP: before the
 * host's network stack sees the packet.
 *
 * A packet of a registered flow is opened here if its TCP payload is exactly one application data record, and either
 * the next one or one that was opened before. Whatever else a registered flow carries in its payload goes to user space
 * over AF_XDP, or is dropped if nobody listens there: it is never passed on, since behind this program an
 * unauthenticated segment would look like plaintext. Segments without payload pass. Packets of other flows pass
 * untouched, but for what is said at `strict`.
 *
 * The result, in the packet's place:  the 5 bytes of the record header | plaintext | zeroes | content length, 2 bytes,
 * big endian. It is as long as what came, so TCP's numbers stay as they are; the checksums are made right.
 *
 * Constant time: no branch and no address depends on the key, the text or the tag, but for the verdict on the tag and,
 * on an authentic record, its padding. Comparisons of secrets go through `hide`, or the compiler would make early exits
 * of them.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define TEXT_MAX 1536   /* bytes of ciphertext with its tag that are opened here */
#define TEXT_ROOM 2048  /* the power of two above, for addresses the verifier believes */
#define HEADERS_MAX 126 /* Ethernet, two VLAN tags, IPv6 with options, TCP with options */
#define RECORD_HEADER 5
#define TAG 16
#define HISTORY 16 /* records that a retransmission may go back */

enum mode {
    MODE_OPEN = 0,  /* open here */
    MODE_STEER = 1, /* to user space, all of it */
};

/* What arrives with a packet in user space, in front of it. */
enum { META_OPENED = 1, META_UNTOUCHED = 2 };

struct meta {
    u32 magic; /* META_MAGIC, so that stale bytes are not taken for it */
    u16 kind;
    u16 payload; /* offset of the TCP payload in the packet */
    u64 number;  /* record number, if opened */
};

#define META_MAGIC 0x6b6c6173

struct flow_key { /* as in the packet; IPv4 addresses as ::ffff:a.b.c.d */
    u8 source[16];
    u8 destination[16];
    u16 source_port;
    u16 destination_port;
};

struct flow {
    u32 key[8];
    u32 iv[3];   /* XORed with the record number (RFC 8446, 5.3) */
    u32 mode;    /* enum mode */
    u64 cursor;  /* low half: TCP sequence number at which the next record begins; high half: its number, see high */
    u32 high;    /* upper half of the record number; when the lower half runs over, user space takes the flow */
    u32 deliver; /* 0: pass the opened packet to the host; 1: to user space */
    u64 history[HISTORY];                        /* cursors of opened records */
    u64 opened, again, forged, steered, dropped; /* packets */
};

struct settings {
    u32 strict; /* 1: TCP packets that cannot be told from a registered flow's (fragments, odd headers) are dropped */
    u32 registered; /* flows in the table; 0: nothing is looked at */
};

struct work {
    u32 state[16];
    u32 h[5], r[5], r5[5], s[4];
    u64 tag[2];
    u64 before, after; /* sums of what is replaced and of what replaces it, for the TCP checksum */
    u32 bytes;         /* of ciphertext without tag */
    u32 counter;       /* of the next ChaCha20 block */
    u64 text[(TEXT_ROOM + 64) / 8];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, struct flow_key);
    __type(value, struct flow);
} flows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, 64);
    __type(key, u32);
    __type(value, u32);
} sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct settings);
} options SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct work);
} works SEC(".maps");

/* The compiler must not know what is in x. */
#define hide(x) asm volatile("" : "+r"(x))

static __always_inline struct work *my_work(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&works, &zero);
}

/* ---- ChaCha20 and Poly1305 ---- */

#define ROTATE(x, n) ((x) << (n) | (x) >> (32 - (n)))

/* x = (x ^ y) <<< n */
#define XOR_ROTATE(x, y, n) \
    "%[" #x "] ^= %[" #y "]\n %[t] = %[" #x "]\n %[t] >>= 32 - " #n "\n %[" #x "] <<= " #n "\n %[" #x "] |= %[t]\n"

/* BPF has too few registers for the state. One quarter round at a time, with the first row in registers and the others
 * in memory, loaded and stored once, is less than what the compiler makes of four at a time; the processor finds the
 * independent ones by itself. */
#define QUARTER(word, j, k, l)                                                                           \
    b = x[j], c = x[k], d = x[l];                                                                        \
    asm volatile("%[a] += %[b]\n" XOR_ROTATE(d, a, 16) "%[c] += %[d]\n" XOR_ROTATE(                      \
                     b, c, 12) "%[a] += %[b]\n" XOR_ROTATE(d, a, 8) "%[c] += %[d]\n" XOR_ROTATE(b, c, 7) \
                 : [a] "+w"(word), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d), [t] "=&w"(u));                 \
    x[j] = b, x[k] = c, x[l] = d;                                                                        \
    asm volatile("" : : : "memory");

/* RFC 8439, 2.5: h := (h + m) r mod 2^130 - 5, in five limbs of 26 bits; r5 = 5 r. top is the bit above the block. */
static __always_inline void poly1305_block(struct work *w, u64 low, u64 high, u32 top)
{
    u64 h0 = w->h[0] + (u32)(low & 0x3ffffff);
    u64 h1 = w->h[1] + (u32)(low >> 26 & 0x3ffffff);
    u64 h2 = w->h[2] + (u32)((low >> 52 | high << 12) & 0x3ffffff);
    u64 h3 = w->h[3] + (u32)(high >> 14 & 0x3ffffff);
    u64 h4 = w->h[4] + ((u32)(high >> 40) | top << 24);
    u64 d0 = h0 * w->r[0] + h1 * w->r5[4] + h2 * w->r5[3] + h3 * w->r5[2] + h4 * w->r5[1];
    u64 d1 = h0 * w->r[1] + h1 * w->r[0] + h2 * w->r5[4] + h3 * w->r5[3] + h4 * w->r5[2];
    u64 d2 = h0 * w->r[2] + h1 * w->r[1] + h2 * w->r[0] + h3 * w->r5[4] + h4 * w->r5[3];
    u64 d3 = h0 * w->r[3] + h1 * w->r[2] + h2 * w->r[1] + h3 * w->r[0] + h4 * w->r5[4];
    u64 d4 = h0 * w->r[4] + h1 * w->r[3] + h2 * w->r[2] + h3 * w->r[1] + h4 * w->r[0];
    d1 += d0 >> 26;
    d2 += d1 >> 26;
    d3 += d2 >> 26;
    d4 += d3 >> 26;
    d0 = (d0 & 0x3ffffff) + (d4 >> 26) * 5;
    w->h[0] = d0 & 0x3ffffff;
    w->h[1] = (u32)(d1 & 0x3ffffff) + (u32)(d0 >> 26);
    w->h[2] = d2 & 0x3ffffff;
    w->h[3] = d3 & 0x3ffffff;
    w->h[4] = d4 & 0x3ffffff;
}

/* The bytes of word i that are below n, as a mask. */
static __always_inline u64 below(u32 n, u32 i)
{
    u32 bits = n > 8 * i ? 8 * (n - 8 * i) : 0;
    return bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
}

/* One block: number 0 makes the Poly1305 key, the others authenticate and decrypt 64 bytes. */
static long chacha20_block(u32 index, void *unused)
{
    struct work *w = my_work();
    if (!w)
        return 1;
    u32 x[16], b, c, d, u;
    u32 number = w->counter++;
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++)
        x[i] = w->state[i];
    x[12] = number;
    asm volatile("" : : : "memory");
    /* Poly1305 fills what ChaCha20's chain of dependent instructions leaves idle: a block after every second double
     * round. */
    u64 *text = &w->text[(number - 1 & TEXT_ROOM / 64 - 1) * 8], before = 0, after = 0, word;
    u32 left = number ? w->bytes - (number - 1) * 64 : 0;
    u32 a0 = x[0], a1 = x[1], a2 = x[2], a3 = x[3];
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 5; i++) {
#pragma clang loop unroll(full)
        for (int twice = 0; twice < 2; twice++) {
            QUARTER(a0, 4, 8, 12)
            QUARTER(a1, 5, 9, 13)
            QUARTER(a2, 6, 10, 14)
            QUARTER(a3, 7, 11, 15)
            QUARTER(a0, 5, 10, 15)
            QUARTER(a1, 6, 11, 12)
            QUARTER(a2, 7, 8, 13)
            QUARTER(a3, 4, 9, 14)
        }
        if (i < 4 && left > 16 * i) {
            u64 low = text[2 * i], high = text[2 * i + 1];
            poly1305_block(w, low, high, 1);
            before += (u32)low + (low >> 32) + (u32)high + (high >> 32);
        }
    }
    x[0] = a0, x[1] = a1, x[2] = a2, x[3] = a3;
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++)
        x[i] += i == 12 ? number : w->state[i];
    if (number == 0) {
        u64 low = (u64)x[1] << 32 | x[0], high = (u64)x[3] << 32 | x[2];
        low &= 0x0ffffffc0fffffff;
        high &= 0x0ffffffc0ffffffc;
        w->r[0] = low & 0x3ffffff;
        w->r[1] = low >> 26 & 0x3ffffff;
        w->r[2] = (low >> 52 | high << 12) & 0x3ffffff;
        w->r[3] = high >> 14 & 0x3ffffff;
        w->r[4] = high >> 40;
        w->r5[1] = 5 * w->r[1];
        w->r5[2] = 5 * w->r[2];
        w->r5[3] = 5 * w->r[3];
        w->r5[4] = 5 * w->r[4];
        w->s[0] = x[4];
        w->s[1] = x[5];
        w->s[2] = x[6];
        w->s[3] = x[7];
        return 0;
    }
    /* What is behind the text becomes zero again: the tag's place. */
#define WORD(i, lo, hi)                                           \
    word = (text[i] ^ ((u64)(hi) << 32 | (lo))) & below(left, i); \
    text[i] = word;                                               \
    after += (u32)word + (word >> 32);
    WORD(0, x[0], x[1])
    WORD(1, x[2], x[3])
    WORD(2, x[4], x[5])
    WORD(3, x[6], x[7])
    WORD(4, x[8], x[9])
    WORD(5, x[10], x[11])
    WORD(6, x[12], x[13])
    WORD(7, x[14], x[15])
    w->before += before;
    w->after += after;
    return 0;
}

/* A sum of bytes that begin at an odd place counts 256 times (RFC 1071, 2 (B): all is modulo 2^16 - 1). */
static __always_inline u64 sum_at(u32 offset, u64 sum)
{
    return offset & 1 ? sum << 8 : sum;
}

/* The functions that are not static are verified once, whatever leads to them. */

/* Prepares the record whose ciphertext and tag are in the work's text: takes the tag away, and zeroes its place. */
__noinline int prepare(u32 bytes)
{
    struct work *w = my_work();
    if (!w || bytes > TEXT_MAX)
        return 1;
    u8 *tag = (u8 *)w->text + bytes;
    u64 tag0 = 0, tag1 = 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) {
        tag0 |= (u64)tag[i] << 8 * i;
        tag1 |= (u64)tag[8 + i] << 8 * i;
    }
    w->tag[0] = tag0;
    w->tag[1] = tag1;
    u64 *last = &w->text[(bytes >> 6) * 8];
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) {
        last[i] &= below(bytes & 63, i);
        last[8 + i] = 0;
    }
    w->state[0] = 0x61707865, w->state[1] = 0x3320646e, w->state[2] = 0x79622d32, w->state[3] = 0x6b206574;
    w->bytes = bytes;
    w->counter = 0;
    w->after = 0;
    w->before = sum_at(bytes, (u32)tag0 + (tag0 >> 32) + (u32)tag1 + (tag1 >> 32));
    return 0;
}

/* Absorbs the record header; h was anything. */
__noinline int poly1305_begin(void)
{
    struct work *w = my_work();
    if (!w)
        return 1;
#pragma clang loop unroll(full)
    for (int i = 0; i < 5; i++)
        w->h[i] = 0;
    u32 length = w->bytes + TAG;
    poly1305_block(w, 0x030317 | (u64)(length >> 8) << 24 | (u64)(length & 0xff) << 32, 0, 1);
    return 0;
}

/* Absorbs the lengths; 0 if the tag is right. */
__noinline int poly1305_end(void)
{
    struct work *w = my_work();
    if (!w)
        return 1;
    poly1305_block(w, RECORD_HEADER, w->bytes, 1);
    u64 h0 = w->h[0], h1 = w->h[1], h2 = w->h[2], h3 = w->h[3], h4 = w->h[4];
    h2 += h1 >> 26, h1 &= 0x3ffffff;
    h3 += h2 >> 26, h2 &= 0x3ffffff;
    h4 += h3 >> 26, h3 &= 0x3ffffff;
    h0 += 5 * (h4 >> 26), h4 &= 0x3ffffff;
    h1 += h0 >> 26, h0 &= 0x3ffffff;
    /* h - p = h + 5 - 2^130, taken if it is not negative. */
    u64 g0 = h0 + 5, g1 = h1 + (g0 >> 26), g2 = h2 + (g1 >> 26), g3 = h3 + (g2 >> 26), g4 = h4 + (g3 >> 26);
    u64 take = 0 - (g4 >> 26);
    hide(take);
    h0 ^= take & (h0 ^ (g0 & 0x3ffffff));
    h1 ^= take & (h1 ^ (g1 & 0x3ffffff));
    h2 ^= take & (h2 ^ (g2 & 0x3ffffff));
    h3 ^= take & (h3 ^ (g3 & 0x3ffffff));
    h4 ^= take & (h4 ^ (g4 & 0x3ffffff));
    u64 a0 = (u32)(h0 | h1 << 26), a1 = (u32)(h1 >> 6 | h2 << 20);
    u64 a2 = (u32)(h2 >> 12 | h3 << 14), a3 = (u32)(h3 >> 18 | h4 << 8);
    a0 += w->s[0];
    a1 += w->s[1] + (a0 >> 32);
    a2 += w->s[2] + (a1 >> 32);
    a3 += w->s[3] + (a2 >> 32);
    u64 wrong = (w->tag[0] ^ ((u32)a0 | a1 << 32)) | (w->tag[1] ^ ((u32)a2 | a3 << 32));
    hide(wrong);
    return wrong != 0;
}

/* ---- the packet ---- */

struct place { /* of what was found in a packet */
    struct flow_key key;
    u32 tcp;     /* offset */
    u32 payload; /* offset */
    u32 bytes;   /* of payload */
    u32 sequence;
    u16 checksum;
    u8 whole; /* 0: a fragment, or headers beyond what is understood here */
    u8 ports; /* 0: none in this packet */
};

#define VLAN 0x8100
#define QINQ 0x88a8
#define IPV4 0x0800
#define IPV6 0x86dd
#define TCP 6

enum { NOT_TCP, FOUND };

/* Behind the Ethernet header and at most two VLAN tags: the type, and in the upper half the offset; 0 if it is not
 * there. */
__noinline u32 link_layer(struct xdp_md *ctx)
{
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (data + 14 > end)
        return 0;
    u32 at = 14, type = bpf_ntohs(*(u16 *)(data + 12));
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; i++)
        if (type == VLAN || type == QINQ) {
            if (data + at + 4 > end)
                return 0;
            type = bpf_ntohs(*(u16 *)(data + at + 2));
            at += 4;
        }
    return at << 16 | type;
}

/* IPv6: over at most four extension headers (RFC 8200, 4), from the offset of the first. */
enum { EXTENSION_TOO_MANY = 256, FRAGMENT = 512, LATER_FRAGMENT = 1024 };

__noinline u32 extensions(struct xdp_md *ctx, u32 at, u32 next)
{
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    u32 fragment = 0;
    for (int i = 0; i < 4; i++) {
        if (next != 0 && next != 43 && next != 60 && next != 44)
            return at << 16 | fragment | next;
        if (at > HEADERS_MAX || data + at + 8 > end)
            break;
        u8 *header = data + at;
        u32 is_fragment = next == 44;
        if (is_fragment) {
            fragment = FRAGMENT;
            if (header[2] | (header[3] & 0xf8))
                fragment |= LATER_FRAGMENT;
        }
        next = header[0];
        at += 8 + (is_fragment ? 0 : header[1] * 8);
        if (fragment & LATER_FRAGMENT)
            return fragment | next;
    }
    return EXTENSION_TOO_MANY | (next & 255);
}

/* Addresses; where TCP begins, in p->tcp, and where it ends, in p->bytes. */
__noinline int network_layer(struct xdp_md *ctx, struct place *p, u32 at, u32 type)
{
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (!p || at > 22)
        return NOT_TCP;
    if (type == IPV4) {
        if (data + at + 20 > end)
            return NOT_TCP;
        u8 *ip = data + at;
        u32 header = (ip[0] & 15) * 4;
        if (ip[0] >> 4 != 4 || header < 20 || ip[9] != TCP)
            return NOT_TCP;
        p->whole = !(ip[6] & 0x3f || ip[7]);
        p->ports = !(ip[6] & 0x1f || ip[7]); /* the first fragment has them */
        *(u64 *)p->key.source = *(u64 *)p->key.destination = 0;
        *(u32 *)(p->key.source + 8) = *(u32 *)(p->key.destination + 8) = bpf_htonl(0xffff);
        *(u32 *)(p->key.source + 12) = *(u32 *)(ip + 12);
        *(u32 *)(p->key.destination + 12) = *(u32 *)(ip + 16);
        p->tcp = at + header;
        p->bytes = at + ((u32)ip[2] << 8 | ip[3]);
        return FOUND;
    }
    if (type != IPV6 || data + at + 40 > end)
        return NOT_TCP;
    u8 *ip = data + at;
    __builtin_memcpy(p->key.source, ip + 8, 16);
    __builtin_memcpy(p->key.destination, ip + 24, 16);
    p->bytes = at + 40 + ((u32)ip[4] << 8 | ip[5]);
    u32 found = extensions(ctx, at + 40, ip[6]);
    p->whole = !(found & (FRAGMENT | EXTENSION_TOO_MANY));
    p->ports = !(found & (LATER_FRAGMENT | EXTENSION_TOO_MANY));
    p->tcp = found >> 16;
    return (found & 255) == TCP || found & EXTENSION_TOO_MANY ? FOUND : NOT_TCP;
}

/* Ports and payload. */
__noinline int transport_layer(struct xdp_md *ctx, struct place *p)
{
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (!p)
        return NOT_TCP;
    u32 at = p->tcp, stop = p->bytes;
    if (at > HEADERS_MAX || data + at + 20 > end) {
        p->ports = 0;
        return FOUND;
    }
    u8 *tcp = data + at;
    p->key.source_port = *(u16 *)tcp;
    p->key.destination_port = *(u16 *)(tcp + 2);
    p->sequence = bpf_ntohl(*(u32 *)(tcp + 4));
    p->checksum = *(u16 *)(tcp + 16);
    p->payload = at + (tcp[12] >> 4) * 4;
    p->bytes = stop - p->payload;
    /* Or it lies about its length. */
    if (p->payload < at + 20 || p->payload > stop || stop > (u32)((long)end - (long)data))
        p->whole = 0;
    return FOUND;
}

/* Where the content of the opened record in the work's text ends, or -1 if it is no application data: the inner type is
 * the last byte that is not zero. More padding than this is user space's. */
__noinline int content_of(u32 length)
{
    struct work *w = my_work();
    if (!w)
        return -1;
    u8 *text = (u8 *)w->text;
    u32 content = length - TAG - 1;
    for (int i = 0; i < 32; i++) {
        u8 type = text[content & (TEXT_ROOM - 1)];
        if (type)
            return type == 23 ? (int)content : -1;
        if (content == 0)
            return -1;
        content--;
    }
    return -1;
}

/* To user space, with what is known of the packet in front of it; or to nowhere. */
static __always_inline int give(struct xdp_md *ctx, struct flow *f, u16 kind, u32 payload, u64 number)
{
    if (!bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct meta))) {
        struct meta *m = (void *)(long)ctx->data_meta;
        if ((void *)(m + 1) <= (void *)(long)ctx->data) {
            m->magic = META_MAGIC;
            m->kind = kind;
            m->payload = payload;
            m->number = number;
        }
    }
    int verdict = bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP);
    __sync_fetch_and_add(verdict == XDP_REDIRECT ? &f->steered : &f->dropped, 1);
    return verdict;
}

/* The number of the record at a TCP sequence number: 1 the next one, 2 one that was opened before, 0 neither. */
static __always_inline int expected(struct flow *f, u32 sequence, u64 *number, u64 *cursor)
{
    *cursor = *(volatile u64 *)&f->cursor;
    *number = (u64)f->high << 32 | *cursor >> 32;
    if ((u32)*cursor == sequence)
        return 1;
    int found = 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < HISTORY; i++) {
        u64 old = *(volatile u64 *)&f->history[i];
        if (old && (u32)old == sequence) {
            *number = (u64)f->high << 32 | old >> 32;
            found = 2;
        }
    }
    return found;
}

SEC("xdp")
int sealane(struct xdp_md *ctx)
{
    u32 zero = 0;
    struct settings *set = bpf_map_lookup_elem(&options, &zero);
    if (!set || !set->registered)
        return XDP_PASS;
    struct place p = {};
    u32 link = link_layer(ctx);
    if (!link || network_layer(ctx, &p, link >> 16, link & 0xffff) == NOT_TCP)
        return XDP_PASS;
    if (p.ports)
        transport_layer(ctx, &p);
    if (!p.ports) /* TCP that cannot be looked up */
        return set->strict ? XDP_DROP : XDP_PASS;
    struct flow *f = bpf_map_lookup_elem(&flows, &p.key);
    if (!f)
        return XDP_PASS;
    if (p.whole && p.bytes == 0)
        return XDP_PASS;
    if (!p.whole || f->mode != MODE_OPEN)
        goto user;

    /* Exactly one record, and one that can be opened here. */
    u32 record = p.payload, length = p.bytes - RECORD_HEADER;
    if (p.bytes < RECORD_HEADER + TAG + 1 || length > TEXT_MAX || record > HEADERS_MAX + 64)
        goto user;
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    u8 *header = data + record;
    if ((void *)(header + RECORD_HEADER) > end)
        goto user;
    if (header[0] != 23 || header[1] != 3 || header[2] != 3 || ((u32)header[3] << 8 | header[4]) != length)
        goto user;
    u64 number, cursor;
    int which = expected(f, p.sequence, &number, &cursor);
    if (!which || (which == 1 && (u32)(cursor >> 32) == 0xffffffff))
        goto user;
    struct work *w = my_work();
    if (!w)
        goto user;
    length &= TEXT_ROOM - 1;
    if (length < TAG + 1 || bpf_xdp_load_bytes(ctx, record + RECORD_HEADER, w->text, length))
        goto user;
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++)
        w->state[4 + i] = f->key[i];
    w->state[13] = f->iv[0];
    w->state[14] = f->iv[1] ^ bpf_htonl(number >> 32);
    w->state[15] = f->iv[2] ^ bpf_htonl((u32)number);
    u32 bytes = length - TAG;
    if (prepare(bytes))
        goto user;
    bpf_loop(1, chacha20_block, 0, 0);
    poly1305_begin();
    bpf_loop((bytes + 63) >> 6, chacha20_block, 0, 0);
    if (poly1305_end()) {
        __sync_fetch_and_add(&f->forged, 1);
        goto user;
    }

    int content = content_of(length);
    if (content < 0 || content >= TEXT_MAX)
        goto user;
    if (which == 1) {
        /* TCP's sequence number and the record's go forward together; another CPU may have had the same packet. */
        u64 next = ((cursor >> 32) + 1) << 32 | (u32)(p.sequence + p.bytes);
        if (__sync_val_compare_and_swap(&f->cursor, cursor, next) == cursor)
            *(volatile u64 *)&f->history[number & HISTORY - 1] = cursor;
    }

    u8 *text = (u8 *)w->text;
    text[content & TEXT_ROOM - 1] = 0;
    u8 *trailer = text + (bytes & TEXT_ROOM - 1);
    trailer[TAG - 2] = content >> 8;
    trailer[TAG - 1] = content;
    u64 after = w->after + sum_at(bytes, bpf_htons(content));
    u64 before = w->before + sum_at(content, 23);
    /* RFC 1624: HC' = ~(~HC + ~m + m'); the text begins at an odd place of the payload. */
    before = (before & 0xffffffff) + (before >> 32);
    before = (before & 0xffff) + (before >> 16 & 0xffff) + (before >> 32);
    before = (before & 0xffff) + (before >> 16);
    before = (before & 0xffff) + (before >> 16);
    after += 0xffff - before;
    u64 sum = (u16)~p.checksum + ((after % 0xffff) << 8);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    u16 checksum = ~sum;
    if (bpf_xdp_store_bytes(ctx, record + RECORD_HEADER, w->text, length))
        goto user;
    if (p.tcp > HEADERS_MAX + 64 || bpf_xdp_store_bytes(ctx, p.tcp + 16, &checksum, 2))
        return XDP_DROP;
    __sync_fetch_and_add(which == 1 ? &f->opened : &f->again, 1);
    if (f->deliver)
        return give(ctx, f, META_OPENED, record, number);
    return XDP_PASS;

user:
    return give(ctx, f, META_UNTOUCHED, p.payload, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
