// bfs.cu, launched over several GPUs at once. It has a file of its own since one GPU does not have to compile it.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1 | -DHIVE_WIDE=0 -DHIVE_BLIND=1 | -DHIVE_WIDE=1 -DHIVE_BLIND=1

#include "bfs_search.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2) bfs_joint(const BfsArgs a) { run<true>(a); }
