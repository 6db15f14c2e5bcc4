// ONNX files as networks: `tandem run model.onnx`.
#pragma once

#include <string>
#include <string_view>

#include "workloads/network.h"

namespace tandem {

/// What a file does not say.
struct OnnxTask {
  Task task = Task::train;
  std::string optimizer = "sgd";  // or adam, adamw; not asked for inference
};

/// Whether a path ends as ONNX files do.
bool is_onnx(std::string_view path);

/// The step that PyTorch would run of the model in a file: its operations, of which the backward
/// pass, a loss and an optimizer follow where it trains. Weights are not read. The first size of
/// inputs that has a name is the batch, another name the sequence. Errors: InputError for files
/// that cannot be read, opsets before 13, operations without a row (they are named), shapes that do
/// not fit or depend on data, and unknown optimizers.
Network load_onnx(const std::string& path, const OnnxTask& task);

}  // namespace tandem
