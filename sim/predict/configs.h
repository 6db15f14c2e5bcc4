// Everything that a run reads from the config folder, read once.
#pragma once

#include <string>
#include <vector>

#include "models/arch/default_gpus.h"
#include "models/arch/gpu_config.h"
#include "models/collective/collective_law.h"
#include "models/energy/energy_config.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_constants.h"
#include "models/runtime/host_model.h"
#include "models/whatif/batch/law.h"
#include "models/whatif/compile/inductor/fusion_law.h"
#include "models/whatif/edit/repeat_law.h"
#include "models/whatif/gpu/retarget_law.h"
#include "models/whatif/optimizer/law.h"
#include "models/whatif/precision/law.h"
#include "sim/predict/bands.h"

namespace tandem {

struct Configs {
  // Copies and moves stand in configs.cpp: every file would compile its own, kilobytes of it.
  Configs();
  Configs(const Configs&);
  Configs(Configs&&) noexcept;
  Configs& operator=(const Configs&);
  Configs& operator=(Configs&&) noexcept;
  ~Configs();

  std::string folder;
  GpuCatalogue gpus;
  DefaultGpus default_gpus;
  HostModel host;
  CostConstants costs;
  WorkRules work_rules;
  EnergyCatalogue energies;
  TimeConstants time;
  LibraryNames libraries;
  MeasuredLayers layers;
  RetargetErrors retarget;
  BatchLaw batch;
  FusionLaw fusion;
  PrecisionLaw precision;
  OptimizerLaw optimizer;
  BandConstants bands;
  CollectiveLaw collectives;
  RepeatLaw repeats;
};

/// The file of a host: a path that ends with .json, or a name of folder/hosts. Errors: InputError
/// for a name that is none of them.
std::string host_path(const std::string& folder, const std::string& host);
/// The names of folder/hosts, in order.
std::vector<std::string> host_names(const std::string& folder);

/// `folder` holds gpus/, hosts/, kernels/, bands.json and defaults.json. Errors: InputError that
/// names the file.
/// `gpu`: what a scenario names; the path of a config joins the GPUs of the folder.
Configs load_configs(const std::string& folder, const std::string& host,
                     const std::string& gpu = "");
/// What load_configs() does with `gpu`. Errors: InputError for a GPU that has the name of another.
void add_gpu_file(Configs& configs, const std::string& gpu);

}  // namespace tandem
