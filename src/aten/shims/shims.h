#pragma once
// The operators that are written once, here, and never fall back: they make tensors, look at them,
// resize them and copy them; and the few whose CPU kernel would not do, unless the plugin has one. Each
// function adds its operators to the library of the device's key.

#include <torch/library.h>

#include "base/namespaces.h"

namespace torchplug::aten {

void add_factories(torch::Library& library);
void add_views(torch::Library& library);
void add_storage_operators(torch::Library& library);
void add_copies(torch::Library& library);
void add_fills(torch::Library& library);
void add_convolution(torch::Library& library);
void add_dropout(torch::Library& library);
void add_lstm_cell(torch::Library& library);
void add_gru_cell(torch::Library& library);
void add_histogram(torch::Library& library);
void add_shared_batch_norm(torch::Library& library);

}  // namespace torchplug::aten
