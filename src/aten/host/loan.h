#pragma once
// CPU tensors that stand for device tensors while a CPU kernel runs: how every operator without a
// kernel of the plugin's is carried out.
//   borrow    the CPU tensors lie on the device memory itself, through the plugin's host view
//   stage     they lie on copies of just the bytes the tensors span; on memory for those bytes, where the
//             operator writes them all and reads none; or, where the plugin maps memory, on the device memory
//             itself for as long as the kernel runs
//   metadata  they lie on nothing: for views, which touch no data
// Tensors that share device memory share CPU memory, so aliasing is what it was. A Loan belongs to
// one call on one thread.

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <vector>

#include "aten/tensor/arguments.h"
#include "aten/tensor/transfer.h"
#include "runtime/host_map.h"
#include "runtime/stream.h"

namespace torchplug::aten {

enum class LoanKind { kBorrow, kStage, kMetadata };

class Loan {
 public:
  Loan(LoanKind kind, const Stream& stream) : kind_(kind), stream_(stream) {}

  // For staging: lets open() map what the plugin maps. Only for kernels that keep nothing and call no Python.
  void allow_maps() { may_map_ = kind_ == LoanKind::kStage && HostMaps::are_possible(stream_.device()); }
  bool may_map() const { return may_map_; }

  // A device tensor that is no argument: a result, to be written whole.
  void add_result(const at::Tensor& tensor) { add(tensor, /*read=*/false, /*written=*/true); }
  // First name every device tensor among an operator's arguments, then open, then ask for the CPU tensor of
  // each. By argument: whether it is written, and whether it is written whole and not read.
  void add_all(Arguments arguments, const std::vector<bool>& writes, const std::vector<bool>& overwrites);
  // Waits for the stream: the kernel may run at once.
  void open();
  // For staging in a capture: does not wait. What is copied is there in the order of the stream, and so is
  // what settle() copies back.
  void open_in_order();
  at::Tensor host_tensor(const at::Tensor& tensor) const;
  // The arguments with the CPU tensors in place of the device's.
  torch::jit::Stack host_arguments(Arguments arguments) const;

  // After the kernel: what it wrote or resized reaches the device tensors. Nothing is mapped any more.
  void settle();
  // The device tensor for a CPU tensor that the kernel returned. An original or a view of one stays
  // that; anything else is copied to the device.
  at::Tensor result(const at::Tensor& host);
  // The place, among the tensors added, of the one a returned CPU tensor stands for; -1 if none.
  int64_t position_of(const at::Tensor& host) const;
  bool shares_memory(const at::Tensor& host) const;

  // Whether the kernel gave a shape to the tensor in the given place, which came without elements: how
  // outputs are made that are not known beforehand.
  bool is_shaped(int64_t position) const { return entries_[static_cast<size_t>(position)].is_shaped; }
  size_t shaped_count() const;
  // Whether it changed the shape, or moved the memory, of a tensor that had elements.
  bool has_resized() const { return has_resized_; }
  uint64_t bytes_moved() const { return bytes_moved_; }
  // Whether the kernel ran on the device memory itself.
  bool has_copied_nothing() const { return kind_ == LoanKind::kBorrow || (maps_ && bytes_moved_ == 0); }

 private:
  // A run of host memory for a run of one device storage.
  struct Buffer {
    c10::StorageImpl* storage;
    ByteSpan span;
    bool read;  // some byte of it may be looked at, or has to go back as it was
    bool written;
    bool is_exact;  // it begins where the tensors do
    c10::Storage host = {};
    const void* data = nullptr;
    size_t bytes = 0;
    bool is_mapped = false;
  };
  struct Entry {
    at::Tensor original;
    at::Tensor host;
    size_t buffer;
    bool written;
    bool is_shaped = false;
  };

  void add(const at::Tensor& tensor, bool read, bool written);
  size_t find_buffer(const Buffer& wanted);
  void merge_buffers();
  void fill(Buffer& buffer, bool pinned);
  void map_buffers();
  bool overlap_elsewhere() const;
  void make_host_tensors();
  static at::Tensor make_host_tensor(const at::Tensor& original, const Buffer& buffer);
  void fit_storage(size_t place);
  void write_back(const Entry& entry);
  void settle_shape(Entry& entry);
  static void settle_quantizer(const Entry& entry);
  static at::Tensor make_view(const Entry& entry, const at::Tensor& host);
  const Entry* find(const at::Tensor& original) const;

  LoanKind kind_;
  Stream stream_;
  c10::SmallVector<Entry, 4> entries_;
  c10::SmallVector<Buffer, 4> buffers_;
  std::optional<HostMaps> maps_;
  bool may_map_ = false;
  uint64_t bytes_moved_ = 0;
  bool has_resized_ = false;
};

}  // namespace torchplug::aten
