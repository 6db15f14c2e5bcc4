// Tables of kernel times at several batches, without shapes or operations, as traces.
#pragma once

#include <string>

#include "validation/fits/batch/series.h"

namespace tandem {

/// Rows "file,seq,name,profile,memory,sms,duration_ns" whose file is `prefix`_BATCH_fb1.
/// Errors: InputError if there are none.
Series read_kernel_table(const std::string& path, const std::string& prefix);

}  // namespace tandem
