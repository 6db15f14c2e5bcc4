// manifest.json of a folder of captures: where they come from and what was fitted on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// What captures say about a model: nothing was fitted on them; nothing was, but a rule was
/// changed after they were scored; constants were. In the order of rising doubt.
enum class DataUse : std::uint8_t { holdout, seen, fitted };

std::string_view to_string(DataUse use);

/// One use of captures for constants.
struct ConstantUse {
  std::string constants;  // file below configs, no suffix: "hosts/default"; or a folder of rules
  DataUse use = DataUse::fitted;
  std::vector<std::string> captures;  // name prefixes; empty: all
  std::string what;                   // which constants, from what
};

struct CaptureManifest {
  std::string gpu;       // config of configs/gpus, or "none"
  std::string date;      // of the first capture, by the clock of the machine: "2026-11-20"
  std::string machine;   // GPU and host
  std::string versions;  // of framework, libraries and driver
  std::string holds;     // workloads
  std::string measured;  // how
  std::string licence;
  std::vector<ConstantUse> used_for;
};

/// Errors: InputError for an unreadable file, an unknown or a missing key.
CaptureManifest load_manifest(const std::string& path);

/// The manifest of the folder that a capture belongs to: FOLDER/traces/NAME.json.zst and
/// FOLDER/manifest.json. Nothing if there is none, as in a folder of the user's.
std::optional<CaptureManifest> manifest_of(const std::string& capture_path);

/// What a capture was used for, as far as `constants` go.
DataUse use_of(const CaptureManifest& manifest, const std::string& capture,
               const std::vector<std::string>& constants);

}  // namespace tandem
