/* Known-answer tests through the provider's own functions. The kernels have been tested before (src/selftest.c).
 */
#ifndef SEALANE_PROVIDER_SELFTEST_H
#define SEALANE_PROVIDER_SELFTEST_H

#include "core.h"

/* Returns NULL, or the name of the failed test. */
const char *selftest(core *c);

#endif
