#pragma once
// Quantized tensors of the device: integers in device memory, and beside them the numbers that say what they
// mean; those of a scheme with one per channel are tensors on the device too.

#include <ATen/core/Tensor.h>
#include <ATen/quantized/Quantizer.h>

#include "runtime/stream.h"

namespace torchplug::aten {

at::QuantizerPtr quantizer_of(const at::Tensor& tensor);
void set_quantizer(const at::Tensor& tensor, at::QuantizerPtr quantizer);
// One that means the same, for tensors on `device`. It shares no memory with the given one, which may have
// been made on memory that is only borrowed.
at::QuantizerPtr move_quantizer(const at::QuantizerPtr& quantizer, c10::Device device);

// A quantized tensor on the given memory, of the device it is on; sizes and strides are for the caller to
// set.
at::Tensor make_quantized(c10::Storage storage, caffe2::TypeMeta dtype, at::QuantizerPtr quantizer);

// A device tensor like the quantized CPU tensor `host`, and with its contents.
at::Tensor copy_quantized_to_device(const at::Tensor& host, const Stream& stream);

// The integers of a quantized tensor, as a plain tensor on the same memory.
at::Tensor integers_of(const at::Tensor& tensor);

}  // namespace torchplug::aten
