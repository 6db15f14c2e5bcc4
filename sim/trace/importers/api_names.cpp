#include "sim/trace/importers/api_names.h"

#include <algorithm>
#include <array>

#include "sim/trace/name_table.h"

namespace tandem {

namespace {

using enum ApiKind;

// Copies to and from arrays, symbols and peers behave like the plain ones of their kind.
constexpr NameTable apis{std::to_array<NameRow<ApiKind>>({
    {"cudaLaunchKernel", launch_kernel},
    {"cudaLaunchKernelExC", launch_kernel},
    {"cudaLaunchCooperativeKernel", launch_kernel},
    {"cudaLaunchCooperativeKernelMultiDevice", launch_kernel},
    {"cudaLaunch", launch_kernel},
    {"cuLaunch", launch_kernel},
    {"cuLaunchGrid", launch_kernel},
    {"cuLaunchGridAsync", launch_kernel},
    {"cuLaunchKernel", launch_kernel},
    {"cuLaunchKernelEx", launch_kernel},
    {"cuLaunchCooperativeKernel", launch_kernel},
    {"cuLaunchCooperativeKernelMultiDevice", launch_kernel},

    {"cudaGraphLaunch", launch_graph},
    {"cuGraphLaunch", launch_graph},

    {"cudaMemcpyAsync", memcpy_async},
    {"cudaMemcpy2DAsync", memcpy_async},
    {"cudaMemcpy3DAsync", memcpy_async},
    {"cudaMemcpyPeerAsync", memcpy_async},
    {"cudaMemcpy3DPeerAsync", memcpy_async},
    {"cudaMemcpyToArrayAsync", memcpy_async},
    {"cudaMemcpyFromArrayAsync", memcpy_async},
    {"cudaMemcpy2DToArrayAsync", memcpy_async},
    {"cudaMemcpy2DFromArrayAsync", memcpy_async},
    {"cudaMemcpyToSymbolAsync", memcpy_async},
    {"cudaMemcpyFromSymbolAsync", memcpy_async},
    {"cudaMemcpyBatchAsync", memcpy_async},
    {"cuMemcpyAsync", memcpy_async},
    {"cuMemcpyHtoDAsync", memcpy_async},
    {"cuMemcpyDtoHAsync", memcpy_async},
    {"cuMemcpyDtoDAsync", memcpy_async},
    {"cuMemcpyPeerAsync", memcpy_async},
    {"cuMemcpyHtoAAsync", memcpy_async},
    {"cuMemcpyAtoHAsync", memcpy_async},
    {"cuMemcpy2DAsync", memcpy_async},
    {"cuMemcpy3DAsync", memcpy_async},
    {"cuMemcpy3DPeerAsync", memcpy_async},

    {"cudaMemcpy", memcpy_blocking},
    {"cudaMemcpy2D", memcpy_blocking},
    {"cudaMemcpy3D", memcpy_blocking},
    {"cudaMemcpyPeer", memcpy_blocking},
    {"cudaMemcpy3DPeer", memcpy_blocking},
    {"cudaMemcpyToArray", memcpy_blocking},
    {"cudaMemcpyFromArray", memcpy_blocking},
    {"cudaMemcpyArrayToArray", memcpy_blocking},
    {"cudaMemcpy2DToArray", memcpy_blocking},
    {"cudaMemcpy2DFromArray", memcpy_blocking},
    {"cudaMemcpy2DArrayToArray", memcpy_blocking},
    {"cudaMemcpyToSymbol", memcpy_blocking},
    {"cudaMemcpyFromSymbol", memcpy_blocking},
    {"cuMemcpy", memcpy_blocking},
    {"cuMemcpyHtoD", memcpy_blocking},
    {"cuMemcpyDtoH", memcpy_blocking},
    {"cuMemcpyDtoD", memcpy_blocking},
    {"cuMemcpyPeer", memcpy_blocking},
    {"cuMemcpyHtoA", memcpy_blocking},
    {"cuMemcpyAtoH", memcpy_blocking},
    {"cuMemcpyDtoA", memcpy_blocking},
    {"cuMemcpyAtoD", memcpy_blocking},
    {"cuMemcpyAtoA", memcpy_blocking},
    {"cuMemcpy2D", memcpy_blocking},
    {"cuMemcpy2DUnaligned", memcpy_blocking},
    {"cuMemcpy3D", memcpy_blocking},
    {"cuMemcpy3DPeer", memcpy_blocking},

    {"cudaMemset", memset},
    {"cudaMemset2D", memset},
    {"cudaMemset3D", memset},
    {"cudaMemsetAsync", memset},
    {"cudaMemset2DAsync", memset},
    {"cudaMemset3DAsync", memset},
    {"cuMemsetD8", memset},
    {"cuMemsetD16", memset},
    {"cuMemsetD32", memset},
    {"cuMemsetD2D8", memset},
    {"cuMemsetD2D16", memset},
    {"cuMemsetD2D32", memset},
    {"cuMemsetD8Async", memset},
    {"cuMemsetD16Async", memset},
    {"cuMemsetD32Async", memset},
    {"cuMemsetD2D8Async", memset},
    {"cuMemsetD2D16Async", memset},
    {"cuMemsetD2D32Async", memset},

    {"cudaEventRecord", event_record},
    {"cudaEventRecordWithFlags", event_record},
    {"cuEventRecord", event_record},
    {"cuEventRecordWithFlags", event_record},

    {"cudaStreamWaitEvent", stream_wait_event},
    {"cuStreamWaitEvent", stream_wait_event},

    {"cudaEventSynchronize", event_synchronize},
    {"cuEventSynchronize", event_synchronize},

    {"cudaStreamSynchronize", stream_synchronize},
    {"cuStreamSynchronize", stream_synchronize},

    {"cudaDeviceSynchronize", device_synchronize},
    {"cudaThreadSynchronize", device_synchronize},
    {"cuCtxSynchronize", device_synchronize},
})};

// Drops one trailing _v<digits>, _ptsz or _ptds.
std::string_view drop_suffix(std::string_view name) {
  const std::size_t at = name.rfind('_');
  if (at == std::string_view::npos) return name;
  const std::string_view suffix = name.substr(at + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool version = suffix.size() > 1 && suffix[0] == 'v' &&
                       std::all_of(suffix.begin() + 1, suffix.end(), is_digit);
  return version || suffix == "ptsz" || suffix == "ptds" ? name.substr(0, at) : name;
}

}  // namespace

std::string_view plain_api_name(std::string_view call_name) {
  return drop_suffix(drop_suffix(call_name));  // e.g. cuMemcpyAsync_v2_ptsz
}

ApiKind api_kind(std::string_view call_name) {
  const auto* const row = apis.find(plain_api_name(call_name));
  return row != nullptr ? row->value : other;
}

}  // namespace tandem
