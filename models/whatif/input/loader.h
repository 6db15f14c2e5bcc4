// A step that reads its input from a loader on a thread of its own.
#pragma once

#include <cstdint>

#include "sim/engine/plan.h"

namespace tandem {

/// The item that waits for the step's input: the one that waits longest, else the first. One that
/// waits for another thread already keeps that wait; the next of its own thread reads.
std::uint32_t reader_of(const Plan& plan);

/// Nothing waits for input any more.
void drop_input_waits(Plan& plan);

/// A thread of its own prepares one input after the other, `each` long; the item `reader` waits for
/// its own. Items from there on are one further.
void add_loader(Duration each, std::uint32_t reader, Plan& plan);

}  // namespace tandem
