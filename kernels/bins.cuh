// Arcs of bins in groups, which one thread works off at once.
#pragma once

#define GROUP 8u  // @host arcs of a group
#define QUAD 4u   // @host arcs of a row whose slots one thread reads at once
