/* Authenticates and decrypts TLS 1.3 records with ChaCha20-Poly1305 (RFC 8446, 5.2; RFC 8439) in XDP, before the
 * host's network stack sees the packet.
 *
 * A packet of a registered flow is opened here if its TCP payload is exactly one application data record. The record
 * must be the next one or one that was opened before. Any other payload of a registered flow goes to user space over
 * AF_XDP, or is dropped if no program listens there. It is never passed on, since after this program an
 * unauthenticated segment would look like plaintext. Segments without payload pass. Packets of other flows pass
 * untouched; `strict` lists the exceptions.
 *
 * The result, in the packet's place:  the 5 bytes of the record header | plaintext | zeroes | content length, 2 bytes,
 * big endian. It is as long as what came, so TCP's numbers stay as they are; the checksums are made right.
 *
 * Constant time: no branch and no address depends on the key, the text or the tag. The exceptions are the verdict on
 * the tag and, in an authentic record, its padding. Comparisons of secrets go through `hide`; otherwise the compiler
 * would make early exits of them.
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

/* Metadata that a packet brings to user space, in front of it. */
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
    struct bpf_spin_lock lock; /* with it user space writes in place, and no copy is left of the old key */
    u32 unused;
};

struct settings {
    u32 strict; /* 1: TCP packets that cannot be told from a registered flow's (fragments, odd headers) are dropped */
    u32 registered; /* flows in the table; 0: nothing is looked at */
};

struct work {
    u32 state[16], first[16];           /* ChaCha20's, and that after the quarter rounds that the counter is not in */
    u32 h[5], r0_low, r[4], q[4], s[4]; /* of Poly1305 */
    u64 tag[2];
    u64 before, after; /* sums of the replaced and of the new bytes, for the TCP checksum */
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

/* Hides the value of x from the compiler. */
#define hide(x) asm volatile("" : "+r"(x))

static __always_inline struct work *my_work(void)
{
    u32 zero = 0;
    return bpf_map_lookup_elem(&works, &zero);
}

/* ---- ChaCha20 and Poly1305 ---- */

/* x = (x ^ y) <<< n */
#define XOR_ROTATE(x, y, n) \
    "%[" #x "] ^= %[" #y "]\n %[t] = %[" #x "]\n %[t] >>= 32 - " #n "\n %[" #x "] <<= " #n "\n %[" #x "] |= %[t]\n"

/* BPF has ten registers and the state sixteen words. The second row, which a quarter round needs first and writes
 * last, stays in registers, with half of the fourth. The others are in memory, loaded and stored once. The compiler
 * would choose differently. The processor finds the independent quarter rounds by itself. */
#define LOAD(x, m) "%[" #x "] = *(u32 *)%[" #m "]\n"
#define STORE(x, m) "*(u32 *)%[" #m "] = %[" #x "]\n"
#define ADD(x, y) "%[" #x "] += %[" #y "]\n"
#define QUARTER(a, b, c, d) \
    ADD(a, b)               \
    XOR_ROTATE(d, a, 16) ADD(c, d) XOR_ROTATE(b, c, 12) ADD(a, b) XOR_ROTATE(d, a, 8) ADD(c, d) XOR_ROTATE(b, c, 7)
/* The fourth row's word in a register, or in memory. */
#define QUARTER3(x, b, y, d) LOAD(a, x) LOAD(c, y) QUARTER(a, b, c, d) STORE(a, x) STORE(c, y)
#define QUARTER2(x, b, y, z) LOAD(d, z) QUARTER3(x, b, y, d) STORE(d, z)

#define FIRST_COLUMN QUARTER3(a0, b0, c0, d0)
#define COLUMNS FIRST_COLUMN QUARTER3(a1, b1, c1, d1) QUARTER2(a2, b2, c2, d2) QUARTER2(a3, b3, c3, d3)
#define DIAGONALS QUARTER2(a0, b1, c2, d3) QUARTER3(a1, b2, c3, d0) QUARTER3(a2, b3, c0, d1) QUARTER2(a3, b0, c1, d2)

#define ROUNDS(what)                                                                                              \
    asm volatile(                                                                                                 \
        what                                                                                                      \
        : [b0] "+w"(b0), [b1] "+w"(b1), [b2] "+w"(b2), [b3] "+w"(b3), [d0] "+w"(d0), [d1] "+w"(d1), [a] "=&w"(a), \
          [c] "=&w"(c), [d] "=&w"(d), [t] "=&w"(t), [a0] "+m"(a0), [a1] "+m"(a1), [a2] "+m"(a2), [a3] "+m"(a3),   \
          [c0] "+m"(c0), [c1] "+m"(c1), [c2] "+m"(c2), [c3] "+m"(c3), [d2] "+m"(d2), [d3] "+m"(d3))

/* RFC 8439, 2.5: h := (h + m) r mod 2^130 - 5, in words of 32 bits, with h4 for the bits above. r's words have 28
 * bits, so four products fit into 64. r1, r2 and r3 are multiples of 4, and 2^128 r_i = 2^130 r_i / 4 = 5 r_i / 4 =
 * q_i. The two low bits of r0 are used separately, and affect only h4. m4 is the bit above the block.
 *
 *     d3 = h0 r3 + h1 r2 + h2 r1 + h3 r0 + h4 q3      top = h4 (r0 mod 4) + d3 / 2^32
 *     d0 = h0 r0 + h1 q3 + h2 q2 + h3 q1 + h4 q0 + 5 (top / 4), and so on with the carry of the one before
 */
#define PRODUCT(h, r) "%[t] = *(u32 *)(%[w] + %[" #r "])\n %[t] *= %[" #h "]\n %[d] += %[t]\n"
#define PRODUCTS(r0, r1, r2, r3, r4) PRODUCT(h0, r0) PRODUCT(h1, r1) PRODUCT(h2, r2) PRODUCT(h3, r3) PRODUCT(h4, r4)
#define NEXT(n) "*(u32 *)(%[w] + %[p" #n "]) = %[d]\n %[d] >>= 32\n"

static __always_inline void poly1305_block(struct work *w, u64 m0, u64 m1, u64 m2, u64 m3, u32 m4)
{
    u64 h0 = w->h[0] + m0, h1 = w->h[1] + m1, h2 = w->h[2] + m2, h3 = w->h[3] + m3, h4 = w->h[4] + m4;
    u64 d, t, top;
#define AT(member) "i"(__builtin_offsetof(struct work, member))
    asm volatile(
        "%[d] = 0\n" PRODUCTS(r3, r2, r1, r0, q3)                                       /* d3 */
        "*(u32 *)(%[w] + %[p3]) = %[d]\n %[d] >>= 32\n"                                 /* its low word waits */
        "%[top] = *(u32 *)(%[w] + %[low])\n %[top] *= %[h4]\n %[top] += %[d]\n"         /* top */
        "%[d] = %[top]\n %[d] >>= 2\n %[d] *= 5\n" PRODUCTS(r0, q3, q2, q1, q0) NEXT(0) /* d0 */
        PRODUCTS(r1, r0, q3, q2, q1) NEXT(1) PRODUCTS(r2, r1, r0, q3, q2) NEXT(2)       /* d1, d2 */
        "%[t] = *(u32 *)(%[w] + %[p3])\n %[d] += %[t]\n" NEXT(3)                        /* d3 */
        "%[top] &= 3\n %[d] += %[top]\n *(u32 *)(%[w] + %[p4]) = %[d]\n"
        : [d] "=&r"(d), [t] "=&r"(t), [top] "=&r"(top)
        : [w] "r"(w), [h0] "r"(h0), [h1] "r"(h1), [h2] "r"(h2), [h3] "r"(h3), [h4] "r"(h4), [r0] AT(r[0]),
          [r1] AT(r[1]), [r2] AT(r[2]), [r3] AT(r[3]), [q0] AT(q[0]), [q1] AT(q[1]), [q2] AT(q[2]), [q3] AT(q[3]),
          [low] AT(r0_low), [p0] AT(h[0]), [p1] AT(h[1]), [p2] AT(h[2]), [p3] AT(h[3]), [p4] AT(h[4])
        : "memory");
}

/* One block: number 0 makes the Poly1305 key, the others authenticate and decrypt 64 bytes. Returns 1 if it was the
 * last. */
static __always_inline long chacha20_block(struct work *w)
{
    /* All first columns except one are the same for all blocks. */
    u32 number = w->counter++, a, c, d, t;
    u32 a0 = w->state[0], a1 = w->first[1], a2 = w->first[2], a3 = w->first[3];
    u32 b0 = w->state[4], b1 = w->first[5], b2 = w->first[6], b3 = w->first[7];
    u32 c0 = w->state[8], c1 = w->first[9], c2 = w->first[10], c3 = w->first[11];
    u32 d0 = number, d1 = w->first[13], d2 = w->first[14], d3 = w->first[15];
    /* Poly1305 uses the time in which ChaCha20's chain of dependent instructions would be idle: a block after every
     * fourth round. */
    u32 *text = (u32 *)&w->text[(number - 1 & TEXT_ROOM / 64 - 1) * 8];
    u64 before = 0, after = 0;
    u32 left = number ? w->bytes - (number - 1) * 64 : 0;
    ROUNDS(FIRST_COLUMN);
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 4; i++) {
        ROUNDS(DIAGONALS COLUMNS DIAGONALS COLUMNS);
        if (left > 16 * i) {
            u32 m0 = text[4 * i], m1 = text[4 * i + 1], m2 = text[4 * i + 2], m3 = text[4 * i + 3];
            before += (u64)m0 + m1 + m2 + m3;
            poly1305_block(w, m0, m1, m2, m3, 1);
        }
    }
    ROUNDS(DIAGONALS COLUMNS DIAGONALS);
    if (number == 0) {
#define KEY(i, x, mask, y)                                                     \
    (t = (x + w->state[i]) & mask, w->r[i] = t, w->s[i] = y + w->state[4 + i], \
     w->q[i] = i ? t + (t >> 2) : (t >> 2) * 5)
        KEY(0, a0, 0x0fffffff, b0);
        w->r0_low = t & 3;
        KEY(1, a1, 0x0ffffffc, b1);
        KEY(2, a2, 0x0ffffffc, b2);
        KEY(3, a3, 0x0ffffffc, b3);
        /* The associated data is the record header. */
        u32 length = w->bytes + TAG;
        w->h[0] = w->h[1] = w->h[2] = w->h[3] = w->h[4] = 0;
        poly1305_block(w, 0x030317 | (length >> 8) << 24, length & 0xff, 0, 0, 1);
        return 0;
    }
#define OUT(i, x) (t = text[i] ^ (x + w->state[i]), text[i] = t, after += t)
    OUT(0, a0), OUT(1, a1), OUT(2, a2), OUT(3, a3);
    OUT(4, b0), OUT(5, b1), OUT(6, b2), OUT(7, b3);
    OUT(8, c0), OUT(9, c1), OUT(10, c2), OUT(11, c3);
    OUT(12, d0 + number - w->state[12]), OUT(13, d1), OUT(14, d2), OUT(15, d3);
    w->before += before;
    w->after += after;
    return left <= 64;
}

/* Where processors must not predict returns, a return takes as long as several rounds. So there are few functions,
 * and a call processes some blocks. More blocks would slow the verifier, which checks each. */
#define AT_ONCE 4

static long chacha20_blocks(u32 index, void *unused)
{
    struct work *w = my_work();
    if (!w)
        return 1;
#pragma clang loop unroll(disable)
    for (int i = 0; i < AT_ONCE; i++)
        if (chacha20_block(w))
            return 1;
    return 0;
}

/* A sum of bytes that begin at an odd place counts 256 times (RFC 1071, 2 (B): all is modulo 2^16 - 1). */
static __always_inline u64 sum_at(u32 offset, u64 sum)
{
    return offset & 1 ? sum << 8 : sum;
}

/* Prepares the record whose ciphertext and tag are in the work's text: removes the tag, and zeroes its place. */
static __always_inline int prepare(u32 bytes)
{
    struct work *w = my_work();
    if (!w || bytes > TEXT_MAX)
        return 1;
    /* Words need not be aligned; a volatile one is not taken apart. */
    volatile u64 *tag = (u64 *)((u8 *)w->text + bytes);
    u64 tag0 = tag[0], tag1 = tag[1];
    w->tag[0] = tag0;
    w->tag[1] = tag1;
#pragma clang loop unroll(full)
    for (int i = 0; i < 10; i++)
        tag[i] = 0;
    w->state[0] = 0x61707865, w->state[1] = 0x3320646e, w->state[2] = 0x79622d32, w->state[3] = 0x6b206574;
#pragma clang loop unroll(full)
    for (int i = 1; i < 4; i++) {
        u32 a = w->state[i], b = w->state[4 + i], c = w->state[8 + i], d = w->state[12 + i], t;
        asm volatile(QUARTER(a, b, c, d) : [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d), [t] "=&w"(t));
        w->first[i] = a, w->first[4 + i] = b, w->first[8 + i] = c, w->first[12 + i] = d;
    }
    w->bytes = bytes;
    w->counter = 0;
    w->after = 0;
    w->before = sum_at(bytes, (u32)tag0 + (tag0 >> 32) + (u32)tag1 + (tag1 >> 32));
    return 0;
}

/* Absorbs the lengths; 0 if the tag is right. */
static __always_inline int poly1305_end(void)
{
    struct work *w = my_work();
    if (!w || w->bytes > TEXT_MAX)
        return 1;
    /* Bytes of the last block after the text must not be visible, nor be in the sum. */
    volatile u64 *behind = (u64 *)((u8 *)w->text + w->bytes);
    u64 sum = 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) {
        u64 word = behind[i];
        sum += (u32)word + (word >> 32);
        behind[i] = 0;
    }
    w->before += sum_at(w->bytes, sum);
    poly1305_block(w, RECORD_HEADER, 0, w->bytes, 0, 1);
    u64 h0 = w->h[0], h1 = w->h[1], h2 = w->h[2], h3 = w->h[3];
    /* h mod 2^130 - 5 is h + 5 [h + 5 >= 2^130] mod 2^130, and h < 2 (2^130 - 5). */
    u64 u = (h0 + 5) >> 32;
    u = (u + h1) >> 32;
    u = (u + h2) >> 32;
    u = (u + h3) >> 32;
    u = ((u + w->h[4]) >> 2) * 5;
    u64 a0 = h0 + w->s[0] + u, a1 = h1 + w->s[1] + (a0 >> 32);
    u64 a2 = h2 + w->s[2] + (a1 >> 32), a3 = h3 + w->s[3] + (a2 >> 32);
    u64 wrong = (w->tag[0] ^ ((u32)a0 | a1 << 32)) | (w->tag[1] ^ ((u32)a2 | a3 << 32));
    hide(wrong);
    return wrong != 0;
}

/* ---- the packet ---- */

struct place { /* of the parts of a packet */
    struct flow_key key;
    u32 tcp;     /* offset */
    u32 payload; /* offset */
    u32 bytes;   /* of payload */
    u32 sequence;
    u16 checksum;
    u8 whole; /* 0: a fragment, or headers not understood here */
    u8 ports; /* 0: no TCP in this packet */
};

#define VLAN 0x8100
#define QINQ 0x88a8
#define IPV4 0x0800
#define IPV6 0x86dd
#define TCP 6

enum { NOT_TCP, FOUND };

/* After the Ethernet header and at most two VLAN tags: the type, and in the upper half the offset; 0 if it is not
 * there. */
static __always_inline u32 link_layer(struct xdp_md *ctx)
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

/* Not static, so that it is verified once, whatever calls it. */
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
static __always_inline int network_layer(struct xdp_md *ctx, struct place *p, u32 at, u32 type)
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
static __always_inline int transport_layer(struct xdp_md *ctx, struct place *p)
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
    /* Otherwise the length in the packet is wrong. */
    if (p->payload < at + 20 || p->payload > stop || stop > (u32)((long)end - (long)data))
        p->whole = 0;
    return FOUND;
}

/* The end of the content of the opened record in the work's text, or -1 if it is not application data. The inner type
 * is the last byte that is not zero. Records with more padding than this go to user space. */
static __always_inline int content_of(u32 length)
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

/* To user space, with a header that describes the packet; or dropped. */
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

/* Compares a TCP sequence number with the records: 1 for the next one, 2 for one that was opened before, 0
 * otherwise. */
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
    bpf_loop(TEXT_ROOM / 64, chacha20_blocks, 0, 0);
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
    after = (after & 0xffff) + (after >> 16 & 0xffff) + (after >> 32);
    after = (after & 0xffff) + (after >> 16);
    u64 sum = (u16)~p.checksum + (after << 8);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    u16 checksum = ~sum;
    if (bpf_xdp_store_bytes(ctx, record + RECORD_HEADER, w->text, length))
        goto user;
    /* All was written before; only the verifier must be told again that the header is there. */
    data = (void *)(long)ctx->data, end = (void *)(long)ctx->data_end;
    u8 *tcp = data + (p.tcp & 255);
    if ((void *)(tcp + 18) > end)
        return XDP_DROP;
    *(u16 *)(tcp + 16) = checksum;
    __sync_fetch_and_add(which == 1 ? &f->opened : &f->again, 1);
    if (f->deliver)
        return give(ctx, f, META_OPENED, record, number);
    return XDP_PASS;

user:
    return give(ctx, f, META_UNTOUCHED, p.payload, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
