#include "models/step/binding/joined_buffers.h"

#include "models/step/binding/made_tensors.h"

namespace tandem {

void JoinedBuffers::see(std::uint32_t tensor, const TensorShape& shape) {
  if (!is_slice(shape)) return;
  const std::int64_t whole = whole_elements(shape);
  Buffer& buffer = buffers_[{whole, shape.type}];
  // Rows that are padded to aligned strides are no parts: a second one would not fit.
  if (buffer.elements + shape.elements() > whole) buffer = {};
  buffer.parts.push_back(tensor);
  buffer.elements += shape.elements();
}

std::vector<std::uint32_t> JoinedBuffers::take(const TensorShape& shape) {
  const auto buffer = buffers_.find({shape.elements(), shape.type});
  if (buffer == buffers_.end() || buffer->second.elements != buffer->first.first) return {};
  std::vector<std::uint32_t> parts = std::move(buffer->second.parts);
  buffers_.erase(buffer);
  return parts;
}

}  // namespace tandem
