// cc.cu, launched over several GPUs at once. It has a file of its own since one GPU does not have to compile it.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "cc_whole.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2) cc_joint(const CcArgs a) { run<true>(a); }
