/* Reaches data by its address.
 * Refused: relocation against
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_relocation_data_avx2
    lea rax, [rip + table]
endfunction

.section .rodata.sealane_relocation_data_avx2_constants, "a", @progbits
.type sealane_relocation_data_avx2_constants, @object
sealane_relocation_data_avx2_constants:
table:
    .quad 1
.size sealane_relocation_data_avx2_constants, 8
