#pragma once
// Quantized tensors of the device: integers in device memory, and beside them the numbers that say what they
// mean; those of a scheme with one per channel are tensors on the device too.
// What only makes a tensor or looks at its scheme is PyTorch's own code; every other operator is the
// CPU's, on borrowed or staged memory. It waits for the stream, and so do the calls behind it.

#include <ATen/core/Tensor.h>
#include <ATen/quantized/Quantizer.h>

#include "runtime/stream.h"

namespace torchplug {

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

void register_quantized_operators();

}  // namespace torchplug
