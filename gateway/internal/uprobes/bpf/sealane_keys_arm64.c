/* sealane_keys.c for arm64, which passes arguments in other registers. */
#define SEALANE_ARM64
#include "sealane_keys.c"
