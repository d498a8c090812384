// What makes tiles and what searches them share.
#pragma once

#include "hive.cuh"

#define TILE_NODES 512u  // @host at most in a tile; a thread each where it is searched
#define HEAD 4u          // @host arcs of a node that lie in a row of their own

struct Tile {  // @host
    u32 first, size;  // slots
    u32 rest, more;   // arcs of its nodes beyond the first four: where they begin, how many
};
