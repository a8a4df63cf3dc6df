/* Known answers through the provider's own functions; what the kernels answer has been tested before (src/selftest.c).
 */
#ifndef SEALANE_PROVIDER_SELFTEST_H
#define SEALANE_PROVIDER_SELFTEST_H

#include "core.h"

/* NULL, or the name of the failed test. */
const char *selftest(core *c);

#endif
