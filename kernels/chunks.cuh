// Chunks of arcs that a warp adds up at once.
#pragma once

#define LANE 8u             // @host arcs of a lane
#define CHUNK (32u * LANE)  // @host arcs of a chunk
