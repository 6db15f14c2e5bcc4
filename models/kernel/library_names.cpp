#include "models/kernel/library_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "models/kernel/launch_rules.h"
#include "sim/core/fields/field.h"
#include "sim/core/named.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

constexpr std::string_view use_names[] = {"product",
                                          "score_product",
                                          "attention_forward",
                                          "attention_backward",
                                          "attention_row_sums",
                                          "attention_conversion",
                                          "attention_head_sums",
                                          "attention_semaphores",
                                          "attention_random_state",
                                          "cast_down",
                                          "cast_up",
                                          "norm_forward",
                                          "norm_backward",
                                          "norm_last_inference",
                                          "native_norm_statistics",
                                          "native_norm_update",
                                          "native_norm_transform",
                                          "native_norm_backward",
                                          "native_norm_inverse",
                                          "native_last_statistics",
                                          "native_last_transform",
                                          "native_last_reduce",
                                          "native_last_backward",
                                          "scalar_copy",
                                          "scalar_product",
                                          "scalar_inverse",
                                          "scalar_fill",
                                          "gradient_unscale",
                                          "scale_update",
                                          "ordered_copy",
                                          "mask_select",
                                          "broadcast_add",
                                          "mask_test",
                                          "mask_all",
                                          "row_softmax",
                                          "row_softmax_backward",
                                          "dropout_forward",
                                          "dropout_backward",
                                          "copy_on_device",
                                          "copy_to_host",
                                          "to_channels_last",
                                          "to_channels_first",
                                          "generated_pointwise",
                                          "generated_reduction",
                                          "generated_row",
                                          "all_reduce",
                                          "broadcast",
                                          "all_gather",
                                          "reduce_scatter",
                                          "list_copy",
                                          "list_update",
                                          "fused_sgd",
                                          "fused_adam",
                                          "depthwise_forward",
                                          "depthwise_input_gradient",
                                          "depthwise_weight_gradient",
                                          "library_depthwise_forward",
                                          "library_depthwise_input_gradient",
                                          "library_depthwise_weight_gradient",
                                          "gradient_add",
                                          "gelu",
                                          "relu"};
static_assert(std::size(use_names) == values_up_to(LibraryUse::relu));
constexpr std::string_view type_names[] = {"any", "fp32", "tf32", "fp16", "bf16"};  // of DataType

/// Describes what the kernel is, an object of its own.
template <class Row>
Field<Row> class_field() {
  return {"is",
          "",
          "what the kernel is",
          [](Row& row, const Json& json, const Place& place) {
            row.is = read_library_class(json, place);
          },
          {}};
}

std::vector<Field<LibraryBlock>> block_fields() {
  using B = LibraryBlock;
  return {field<B>("threads", "count", "threads of a block", &B::threads),
          field<B>("registers_per_thread", "count", "registers", &B::registers_per_thread),
          field<B>("shared_bytes", "B", "shared memory of a block", &B::shared_bytes)};
}

std::vector<Field<TileBlock>> tile_fields() {
  using T = TileBlock;
  std::vector<Field<T>> fields{
      field<T>("tile_m", "count", "rows of the tile", &T::tile_m),
      field<T>("tile_n", "count", "columns of the tile", &T::tile_n),
      field<T>("source", "name", "where such a launch was seen", &T::source)};
  add_fields(fields, &T::block, block_fields());
  return fields;
}

std::vector<Field<LibraryKernel>> kernel_fields() {
  using K = LibraryKernel;
  std::vector<Field<K>> fields{
      field<K>("compute_major", "count", "first generation", &K::compute_major), class_field<K>(),
      field<K>("name", "name", "kernel name with {m}, {n}, {pass}", &K::name),
      field<K>("source", "name", "where such a name was seen", &K::source)};
  add_fields(fields, &K::block, block_fields());
  return fields;
}

std::vector<Field<LibraryName>> name_fields() {
  using N = LibraryName;
  return {choice_field<N>("use", "what a step needs it for", &N::use, use_names),
          choice_field<N>("type", "type of the elements", &N::type, type_names),
          field<N>("compute_major", "count", "first generation", &N::compute_major),
          class_field<N>(),
          field<N>("name", "name", "kernel name with {m}, {n}, {type}, {library_type}", &N::name),
          field<N>("source", "name", "where such a name was seen", &N::source)};
}

std::vector<Field<TypeSpelling>> spelling_fields() {
  using S = TypeSpelling;
  return {field<S>("fp32", "name", "part of a name, FP32 operands", &S::fp32),
          field<S>("fp16", "name", "the same, FP16", &S::fp16),
          field<S>("bf16", "name", "the same, BF16", &S::bf16)};
}

template <class Row>
std::vector<Row> read_rows(const Json& json, const Place& file, const std::string& key,
                           const std::vector<Field<Row>>& fields) {
  std::vector<Row> rows;
  for (const Json& row : json[key]) {
    const Place at = file / (key + "[" + std::to_string(rows.size()) + "]");
    read_fields(row, at, std::span<const Field<Row>>(fields), rows.emplace_back());
  }
  return rows;
}

/// Rows of kernels, with or without a list of tiles.
std::vector<LibraryKernel> read_kernels(const Json& json, const Place& file) {
  constexpr std::string_view tiles = "tiles";
  Json plain = json;
  for (Json& row : plain["kernels"]) {
    if (row.is_object()) row.erase(std::string(tiles));
  }
  std::vector<LibraryKernel> kernels = read_rows(plain, file, "kernels", kernel_fields());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Json& row = json["kernels"][i];
    if (!row.contains(tiles)) continue;
    const Place at = file / ("kernels[" + std::to_string(i) + "]");
    if (!row[tiles].is_array()) (at / tiles).fail(describe_json(row[tiles]), "a list");
    kernels[i].tiles = read_rows(row, at, std::string(tiles), tile_fields());
  }
  return kernels;
}

const LibraryBlock& block_of(const LibraryKernel& kernel, Tile tile) {
  const auto it = std::find_if(kernel.tiles.begin(), kernel.tiles.end(), [&](const TileBlock& t) {
    return t.tile_m == tile.m && t.tile_n == tile.n;
  });
  return it != kernel.tiles.end() ? it->block : kernel.block;
}

void fill_tile(std::string& name, Tile tile) {
  fill_in(name, "{m}", std::to_string(tile.m));
  fill_in(name, "{n}", std::to_string(tile.n));
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

/// Replaces up to `limit` occurrences of `from` as a whole word.
void replace_words(std::string& text, std::string_view from, std::string_view to,
                   std::size_t limit) {
  if (from.empty() || from == to) return;
  for (std::size_t at = text.find(from); at != text.npos && limit > 0; at = text.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool whole =
        (at == 0 || !is_word(text[at - 1])) && (end >= text.size() || !is_word(text[end]));
    if (whole) {
      text.replace(at, from.size(), to);
      at += to.size();
      --limit;
    } else {
      at = end;
    }
  }
}

bool replace_first(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == text.npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

std::string_view library_type(DataType type) {
  return type == DataType::fp16 ? "__half" : type == DataType::bf16 ? "__nv_bfloat16" : "float";
}

const std::string& spelt(const TypeSpelling& spelling, DataType type) {
  return type == DataType::fp16   ? spelling.fp16
         : type == DataType::bf16 ? spelling.bf16
                                  : spelling.fp32;
}

/// Elementwise kernels of the framework load 16 bytes: twice as many elements of half the size.
void retype_elementwise(std::string& name, DataType from, DataType to) {
  constexpr std::size_t everywhere = 100;
  constexpr std::string_view four = "vectorized_elementwise_kernel<4";
  constexpr std::string_view eight = "vectorized_elementwise_kernel<8";
  replace_words(name, framework_type(from), framework_type(to), everywhere);
  if (!is_half(from) && is_half(to)) replace_first(name, four, eight);
  if (is_half(from) && !is_half(to)) replace_first(name, eight, four);
}

}  // namespace

PredictedKernel LibraryNames::kernel(LibraryUse use, DataType type, int compute_major,
                                     Tile tile) const {
  const LibraryName* best = nullptr;
  for (const LibraryName& row : names) {
    if (row.use != use || (row.type != DataType::unknown && row.type != type)) continue;
    const bool newer = best != nullptr && row.compute_major > best->compute_major;
    if (best == nullptr || (newer && row.compute_major <= compute_major)) best = &row;
  }
  if (best == nullptr) return {{}, std::string(use_names[static_cast<std::size_t>(use)])};
  PredictedKernel out{filled_in(best->is, tile.m, tile.n, type), best->name};
  fill_tile(out.name, tile);
  fill_in(out.name, "{type}", framework_type(type));
  fill_in(out.name, "{library_type}", library_type(type));
  return out;
}

const LibraryKernel* LibraryNames::find(int compute_major, Engine engine, KernelFamily family,
                                        DataType type) const {
  const LibraryKernel* best = nullptr;
  for (const LibraryKernel& k : kernels) {
    const KernelClass& is = k.is.kernel;
    if (is.traits.engine != engine || is.family != family || is.math != type) continue;
    if (k.compute_major > compute_major) continue;
    if (best == nullptr || k.compute_major > best->compute_major) best = &k;
  }
  return best;
}

PredictedKernel LibraryNames::retyped(const KernelClass& kernel, std::string_view name,
                                      DataType from, DataType to) const {
  PredictedKernel out{tandem::retyped(kernel, from, to), std::string(name)};
  for (const TypeSpelling& row : spellings) {
    if (replace_first(out.name, spelt(row, from), spelt(row, to))) return out;
  }
  const auto has = [&](std::string_view part) { return out.name.find(part) != out.name.npos; };
  if (has("elementwise_kernel")) {
    retype_elementwise(out.name, from, to);
  } else if (has("cudnn")) {
    // Further types of other kernels are those of accumulators and parameters.
    replace_words(out.name, library_type(from), library_type(to),
                  has("nchw") || has("nhwc") ? 2 : 1);
  } else {
    replace_words(out.name, framework_type(from), framework_type(to), 1);
  }
  return out;
}

LibraryNames load_library_names(const std::string& path) {
  const Json json = read_json_file(path);
  const Place file{path, ""};
  require_object(json, file);
  for (const std::string key : {"kernels", "names", "spellings"}) {
    if (!json.contains(key) || !json[key].is_array() || json.size() != 4) {
      file.fail("other keys", "schema, and three lists: kernels, names, spellings");
    }
  }
  constexpr std::string_view schemas[] = {"tandem.libraries/1"};
  read_choice(json.value("schema", Json()), file / "schema", schemas);
  LibraryNames out{read_kernels(json, file), read_rows(json, file, "names", name_fields()),
                   read_rows(json, file, "spellings", spelling_fields())};
  for (std::size_t use = 0; use < std::size(use_names); ++use) {
    const bool named = std::any_of(out.names.begin(), out.names.end(), [&](const LibraryName& n) {
      return n.use == static_cast<LibraryUse>(use);
    });
    if (!named) {
      (file / "names").fail("no row", "a name for \"" + std::string(use_names[use]) + "\"");
    }
  }
  return out;
}

PredictedKernel predicted_kernel(const LibraryKernel& kernel, Tile tile, Pass pass, int parts) {
  PredictedKernel out{filled_in(kernel.is, tile.m, tile.n, DataType::unknown), kernel.name};
  set_pass(out.kernel, pass);
  // Other kernels do not say whether they split: their parts are a kernel of its own.
  out.kernel.traits.split_k = parts > 1 && kernel.name.find("{split}") != kernel.name.npos;
  fill_in(out.name, "{split}", parts > 1 ? "on" : "off");
  fill_tile(out.name, tile);
  fill_in(out.name, "{pass}",
          pass == Pass::forward          ? "fprop"
          : pass == Pass::input_gradient ? "dgrad"
                                         : "wgrad");
  return out;
}

Tile tile_of(const KernelTime& time) {
  const Tile usual;
  return {time.tile_m > 0 ? time.tile_m : usual.m, time.tile_n > 0 ? time.tile_n : usual.n};
}

std::array<std::uint32_t, 3> grid_of_tiles(const KernelTraits& traits,
                                           const std::array<std::int64_t, 3>& tiles) {
  if (!lays_out_raster(traits)) {
    return {grid_side(tiles[0]), grid_side(tiles[1]), grid_side(tiles[2])};
  }
  const std::int64_t plane =
      std::max<std::int64_t>(tiles[0], 1) * std::max<std::int64_t>(tiles[1], 1);
  return {grid_side(plane), 1, grid_side(tiles[2])};
}

std::array<std::uint32_t, 3> grid_of(const KernelTraits& traits, const KernelTime& time) {
  return grid_of_tiles(traits, {time.grid_x, time.grid_y, time.grid_z});
}

PredictedLaunch predicted_launch(const LibraryKernel& kernel, const KernelTime& time, Pass pass) {
  const Tile tile = tile_of(time);
  const LibraryBlock& block = block_of(kernel, tile);
  PredictedKernel predicted = predicted_kernel(kernel, tile, pass, time.split);
  const auto grid = grid_of(predicted.kernel.traits, time);
  return {std::move(predicted),
          {grid,
           {static_cast<std::uint32_t>(block.threads), 1, 1},
           static_cast<std::uint32_t>(block.registers_per_thread),
           static_cast<std::uint32_t>(block.shared_bytes)}};
}

PredictedKernel attention_without_tf32(const KernelClass& kernel, std::string_view name) {
  constexpr std::string_view newer = "_sm80", older = "_sm70";
  std::string changed(name);
  const std::size_t at = changed.find(newer.substr(0, newer.size() - 1));
  if (at == changed.npos) return {};
  changed.replace(at, newer.size(), older);
  return {without_tensor_cores(kernel), std::move(changed)};
}

void fill_in(std::string& name, std::string_view placeholder, std::string_view text) {
  for (std::size_t at = name.find(placeholder); at != std::string::npos;
       at = name.find(placeholder, at + text.size())) {
    name.replace(at, placeholder.size(), text);
  }
}

std::string_view framework_type(DataType type) {
  switch (type) {
    case DataType::fp32: return "float";
    case DataType::fp16: return "c10::Half";
    case DataType::bf16: return "c10::BFloat16";
    default: return {};
  }
}

}  // namespace tandem
