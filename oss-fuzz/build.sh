#!/bin/sh
# Builds the fuzzers and their corpora into $OUT, as OSS-Fuzz runs it. CC, CFLAGS, CXX, CXXFLAGS, LIB_FUZZING_ENGINE and SRC are its own.
set -eu # SEALANE: another place of the checkout
cd "${SEALANE:-$SRC/sealane}"
make build/libsealane.a CC="$CC" CFLAGS="$CFLAGS" WERROR=
for target in packets quic aes; do
    # shellcheck disable=SC2086 # words
    $CC $CFLAGS -std=c11 -Iinclude -c -o "build/fuzz_$target.o" "oss-fuzz/fuzz_$target.c"
    # shellcheck disable=SC2086
    $CXX $CXXFLAGS -o "$OUT/fuzz_$target" "build/fuzz_$target.o" build/libsealane.a $LIB_FUZZING_ENGINE
    (cd "oss-fuzz/corpus/$target" && zip -q -r "$OUT/fuzz_${target}_seed_corpus.zip" .)
done
