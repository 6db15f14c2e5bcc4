// Small networks, written by hand, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "workloads/network.h"

namespace tandem::test {

/// A file that goes away with the object.
class NetworkFile {
 public:
  explicit NetworkFile(const std::string& text) {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() / ("tandem_network_" + std::to_string(getpid()) +
                                                      "_" + std::to_string(++number) + ".json");
    std::ofstream(path_) << text;
  }
  ~NetworkFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  NetworkFile(const NetworkFile&) = delete;
  NetworkFile& operator=(const NetworkFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// A linear layer and its activation: y = relu(x w + b), x [batch, 64], w [32, 64].
inline std::string small_network(const std::string& ops = "") {
  const std::string usual = R"([
    {"op": "aten::addmm", "phase": "forward", "module": 0, "seq": 0,
     "args": [{"t": 2}, {"t": 0}, {"t": 3}, 1, 1], "out": [4]},
    {"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 4}], "out": [5]}])";
  return R"({"schema": "tandem.network/1", "name": "small", "framework": "pytorch", "task": "infer",
  "source": "by hand", "recorded_with": "nothing", "optimizer": "", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 8}],
  "modules": [""],
  "storages": ["input", "parameter", "parameter", "activation", "activation"],
  "tensors": [["fp32", ["batch", 64], null, 0], ["fp32", [32, 64], null, 1],
              ["fp32", [32], null, 2], ["fp32", [64, 32], [1, 64], 1],
              ["fp32", ["batch", 32], null, 3], ["fp32", ["batch", 32], null, 4]],
  "ops": )" +
         (ops.empty() ? usual : ops) + "}";
}

inline Network network_of(const std::string& text) {
  return load_network(NetworkFile(text).path());
}

}  // namespace tandem::test
