#include "models/arch/default_gpus.h"

#include "sim/core/fields/constants.h"

namespace tandem {

namespace {

std::vector<Field<DefaultGpus>> default_fields() {
  return {field<DefaultGpus>("network_gpu", "name", "of tandem run", &DefaultGpus::network),
          field<DefaultGpus>("square_gpu", "name", "of tandem square", &DefaultGpus::square)};
}

}  // namespace

DefaultGpus load_default_gpus(const std::string& path, const GpuCatalogue& gpus) {
  const Place file{path, ""};
  const std::vector<Field<DefaultGpus>> fields = default_fields();
  DefaultGpus out;
  read_all_sourced(read_json_file(path), file, fields, out, out.origins);
  for (const Field<DefaultGpus>& f : fields) {
    const std::string name = f.write(out).get<std::string>();
    if (!has_gpu(gpus, name)) {
      (file / f.name / "value").fail("unknown GPU \"" + name + "\"", "a GPU of " + gpus.folder);
    }
  }
  return out;
}

}  // namespace tandem
