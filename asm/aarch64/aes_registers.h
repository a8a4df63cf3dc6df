/* Integer registers of all AES kernels of arm64: the arguments, and temporaries, in 64 and 32 bits. */
#define args x0
#define scratch x1
#define consts x2
#define t0 x10
#define t1 x11
#define t2 x12
#define t3 x13
#define t0d w10
#define t1d w11
#define t2d w12
#define t3d w13
