// The vocabulary of Kineto: event categories, names of arguments, data types.
#pragma once

#include <array>
#include <cstdint>

#include "sim/trace/json/events.h"
#include "sim/trace/name_table.h"

namespace tandem::kineto {

enum class Category : std::uint8_t {
  op,
  call,
  kernel,
  memcpy,
  memset,
  sync,
  annotation,
  overhead,
  instant,
  python,
  ignored
};

struct CategoryInfo {
  Category category = Category::ignored;
  bool legacy = false;
};

using enum Category;

inline constexpr NameTable categories{std::to_array<NameRow<CategoryInfo>>({
    {"cpu_op", {op}},
    {"cuda_runtime", {call}},
    {"cuda_driver", {call}},
    {"kernel", {kernel}},
    {"gpu_memcpy", {memcpy}},
    {"gpu_memset", {memset}},
    {"cuda_sync", {sync}},
    {"user_annotation", {annotation}},
    {"overhead", {overhead}},
    {"cpu_instant_event", {instant}},
    {"python_function", {python}},

    {"Operator", {op, true}},
    {"Runtime", {call, true}},
    {"Kernel", {kernel, true}},
    {"Memcpy", {memcpy, true}},
    {"Memset", {memset, true}},

    // Not kept: flows repeat correlation ids, the others are no part of the model.
    {"ac2g", {}},
    {"async", {}},
    {"fwdbwd", {}},
    {"async_gpu", {}},
    {"async_cpu", {}},
    {"gpu_user_annotation", {}},
    {"external_correlation", {}},
    {"cuda_event", {}},
    {"cuda_profiler_range", {}},
    {"Trace", {}},
})};

// Slots of the args that are read.
namespace arg {
enum Slot : int {
  external_id,
  correlation,
  device,
  context,
  stream,
  registers,
  shared_bytes,
  grid,
  block,
  bytes,
  sequence,
  forward_thread,
  dims,
  types,
  strides,
  concrete,
  collective,
  message_elements,
  out_elements,
  group_size,
  group_name,
  group_ranks,
  message_type,
  sync_kind,
  record_correlation,
  thread_name,
  step,
  device_type,
  device_id,
  allocated,
  count
};
}  // namespace arg
static_assert(arg::count <= TraceEvent::max_args);

inline constexpr NameTable arg_names{std::to_array<NameRow<int>>({
    {"External id", arg::external_id},
    {"external id", arg::external_id},
    {"correlation", arg::correlation},
    {"device", arg::device},
    {"context", arg::context},
    {"stream", arg::stream},
    {"registers per thread", arg::registers},
    {"shared memory", arg::shared_bytes},
    {"grid", arg::grid},
    {"block", arg::block},
    {"bytes", arg::bytes},
    {"Sequence number", arg::sequence},
    {"Fwd thread id", arg::forward_thread},
    {"Input Dims", arg::dims},
    {"Input type", arg::types},
    {"Input Strides", arg::strides},
    {"Concrete Inputs", arg::concrete},
    {"Collective name", arg::collective},
    {"In msg nelems", arg::message_elements},
    {"Out msg nelems", arg::out_elements},
    {"Group size", arg::group_size},
    {"Process Group Name", arg::group_name},
    {"Process Group Ranks", arg::group_ranks},
    {"dtype", arg::message_type},
    {"cuda_sync_kind", arg::sync_kind},
    {"wait_on_cuda_event_record_corr_id", arg::record_correlation},
    {"name", arg::thread_name},
    {"Device Type", arg::device_type},
    {"Device Id", arg::device_id},
    {"Bytes", arg::bytes},
    {"Total Allocated", arg::allocated},
})};

// Element sizes of the data types that collectives are recorded with (c10::ScalarType names).
inline constexpr NameTable type_bytes{std::to_array<NameRow<int>>({
    {"Float", 4},
    {"Double", 8},
    {"Half", 2},
    {"BFloat16", 2},
    {"Long", 8},
    {"Int", 4},
    {"Short", 2},
    {"Char", 1},
    {"Byte", 1},
    {"Bool", 1},
    {"ComplexFloat", 8},
    {"ComplexDouble", 16},
    {"ComplexHalf", 4},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
    {"Float8_e4m3fnuz", 1},
    {"Float8_e5m2fnuz", 1},
    {"UInt16", 2},
    {"UInt32", 4},
    {"UInt64", 8},
    {"QInt8", 1},
    {"QUInt8", 1},
})};

}  // namespace tandem::kineto
