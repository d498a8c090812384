// sssp.cu, launched over several GPUs at once. It has a file of its own since one GPU does not have to compile it.
//
// Compiled with: -DHIVE_PACKED=1 -DHIVE_WIDE=0 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1 | -DHIVE_PACKED=1 -DHIVE_WIDE=0 -DHIVE_CAPPED=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 -DHIVE_CAPPED=1 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 -DHIVE_CAPPED=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1 -DHIVE_CAPPED=1

#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(STEP_THREADS, 2) sssp_joint(const StepArgs a) { step<true>(a); }
