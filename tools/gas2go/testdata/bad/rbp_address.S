/* Uses the frame pointer as an address of vector data.
 * Refused: vmovdqu ymm0,YMMWORD PTR [rbp+0x0]: rbp: belongs
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rbp_address_avx2
    vmovdqu ymm0, [rbp]
    vzeroupper
endfunction
