#include "aten/host/loan.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>

#include <algorithm>

#include "aten/host/host_tensor.h"
#include "aten/tensor/quantizer.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"

namespace torchplug::aten {
namespace {

// Staged spans begin at a multiple of every item size, so that offsets stay whole.
constexpr uint64_t kSpanAlignment = 16;

int64_t items_before(const ByteSpan& span, const at::Tensor& tensor) {
  return static_cast<int64_t>(span.begin) / static_cast<int64_t>(tensor.itemsize());
}

void copy_lazy_bits(const at::Tensor& from, const at::Tensor& to) {
  if (from.is_conj()) to._set_conj(true);
  if (from.is_neg()) to._set_neg(true);
}

}  // namespace

void Loan::add_all(Arguments arguments, const std::vector<bool>& writes,
                   const std::vector<bool>& overwrites) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (!is_on_device(tensor)) return;
      // What lies between the elements goes back as it was.
      const bool is_overwritten = overwrites[i] && tensor.is_non_overlapping_and_dense();
      add(tensor, !is_overwritten, writes[i]);
    });
  }
}

void Loan::add(const at::Tensor& tensor, bool read, bool written) {
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  ByteSpan span{0, storage->nbytes()};
  bool is_exact = true;
  if (kind_ == LoanKind::kStage) {
    span = span_of(tensor);
    is_exact = span.begin % kSpanAlignment == 0;
    span.begin -= span.begin % kSpanAlignment;
    if (tensor.numel() == 0) span.end = span.begin;
  }
  entries_.push_back({tensor, {}, find_buffer({storage, span, read, written, is_exact}), written});
}

size_t Loan::find_buffer(const Buffer& wanted) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    const bool same = buffer.span.begin == wanted.span.begin && buffer.span.end == wanted.span.end;
    if (buffer.storage != wanted.storage || !(same || buffer.span.overlaps(wanted.span))) continue;
    buffer.read = buffer.read || wanted.read || !same;
    buffer.written = buffer.written || wanted.written;
    buffer.is_exact = buffer.is_exact && wanted.is_exact;
    buffer.span = {std::min(buffer.span.begin, wanted.span.begin),
                   std::max(buffer.span.end, wanted.span.end)};
    return i;
  }
  buffers_.push_back(wanted);
  return buffers_.size() - 1;
}

// A span that grew may have come to overlap another one: those become one buffer too.
void Loan::merge_buffers() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    for (size_t j = i + 1; j < buffers_.size(); ++j) {
      Buffer& kept = buffers_[i];
      Buffer& merged = buffers_[j];
      if (kept.storage != merged.storage || !kept.span.overlaps(merged.span)) continue;
      kept.span = {std::min(kept.span.begin, merged.span.begin), std::max(kept.span.end, merged.span.end)};
      kept.written = kept.written || merged.written;
      kept.read = true;
      merged.span = {};
      for (Entry& entry : entries_) {
        if (entry.buffer == j) entry.buffer = i;
      }
      j = i;
    }
  }
}

void Loan::open() {
  if (kind_ == LoanKind::kStage) merge_buffers();
  if (may_map_ && !overlap_elsewhere()) map_buffers();
  for (Buffer& buffer : buffers_) {
    if (!buffer.is_mapped) fill(buffer, buffer.span.bytes() >= kPinnedFrom);
  }
  // What was read is there, and so is everything a borrowed tensor depends on. Where there is nothing to
  // read, nothing is waited for.
  const auto is_awaited = [&](const Buffer& buffer) {
    return buffer.bytes != 0 && !buffer.is_mapped && (buffer.read || kind_ == LoanKind::kBorrow);
  };
  if (kind_ != LoanKind::kMetadata && std::any_of(buffers_.begin(), buffers_.end(), is_awaited))
    stream_.synchronize();
  make_host_tensors();
}

namespace {

plug_mem memory_at(const c10::StorageImpl& storage, const ByteSpan& span) {
  plug_mem memory = DeviceAllocator::instance().locate(storage).memory();
  memory.offset += span.begin;
  return memory;
}

}  // namespace

// Whether two storages lie on the same memory, as those that other libraries made may.
bool Loan::overlap_elsewhere() const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    for (size_t j = i + 1; j < buffers_.size(); ++j) {
      if (buffers_[i].span.bytes() == 0 || buffers_[j].span.bytes() == 0) continue;
      const plug_mem a = memory_at(*buffers_[i].storage, buffers_[i].span);
      const plug_mem b = memory_at(*buffers_[j].storage, buffers_[j].span);
      const ByteSpan first{a.offset, a.offset + buffers_[i].span.bytes()};
      if (a.base == b.base && first.overlaps({b.offset, b.offset + buffers_[j].span.bytes()})) return true;
    }
  }
  return false;
}

void Loan::map_buffers() {
  maps_.emplace(stream_);
  for (Buffer& buffer : buffers_) {
    buffer.bytes = buffer.span.bytes();
    if (buffer.bytes == 0) continue;
    const bool reads = buffer.read || !buffer.is_exact;
    const uint32_t flags =
        (reads ? uint32_t{PLUG_MAP_READ} : 0) | (buffer.written ? uint32_t{PLUG_MAP_WRITE} : 0);
    void* view = maps_->map(memory_at(*buffer.storage, buffer.span), buffer.bytes, flags);
    if (view == nullptr) continue;
    buffer.is_mapped = true;
    buffer.host = host_storage({view, c10::kCPU}, buffer.bytes);
    buffer.data = view;
  }
}

void Loan::open_in_order() {
  merge_buffers();
  for (Buffer& buffer : buffers_) fill(buffer, /*pinned=*/true);
  make_host_tensors();
}

// The same tensor twice is the same CPU tensor twice: kernels compare.
void Loan::make_host_tensors() {
  for (Entry& entry : entries_) {
    const Entry* first = find(entry.original);
    entry.host = first == &entry ? make_host_tensor(entry.original, buffers_[entry.buffer]) : first->host;
  }
}

void Loan::fill(Buffer& buffer, bool pinned) {
  buffer.bytes = buffer.span.bytes();
  if (kind_ == LoanKind::kStage) {
    c10::Allocator& allocator =
        pinned ? static_cast<c10::Allocator&>(host_allocator()) : *c10::GetCPUAllocator();
    c10::DataPtr data = allocator.allocate(buffer.bytes);
    if (buffer.read) {
      read_storage(data.get(), *buffer.storage, buffer.span.begin, buffer.bytes, stream_);
      bytes_moved_ += buffer.bytes;
    }
    buffer.host = host_storage(std::move(data), buffer.bytes);
  } else {
    void* address = const_cast<void*>(buffer.storage->data());
    if (kind_ == LoanKind::kBorrow && address != nullptr) {
      address = DeviceAllocator::instance().locate(*buffer.storage).host_address();
    }
    buffer.host = host_storage({address, c10::kCPU}, buffer.bytes);
  }
  buffer.data = buffer.host.data();
}

at::Tensor Loan::make_host_tensor(const at::Tensor& original, const Buffer& buffer) {
  at::Tensor host =
      C10_UNLIKELY(original.is_quantized())
          ? make_quantized(buffer.host, original.dtype(), move_quantizer(quantizer_of(original), c10::kCPU))
          : host_tensor_on(buffer.host, original.dtype());
  host.unsafeGetTensorImpl()->set_sizes_and_strides(
      original.sizes(), original.strides(), original.storage_offset() - items_before(buffer.span, original));
  copy_lazy_bits(original, host);
  return host;
}

const Loan::Entry* Loan::find(const at::Tensor& original) const {
  const auto same = [&](const Entry& entry) { return entry.original.is_same(original); };
  const auto* found = std::find_if(entries_.begin(), entries_.end(), same);
  return found == entries_.end() ? nullptr : found;
}

at::Tensor Loan::host_tensor(const at::Tensor& tensor) const { return find(tensor)->host; }

torch::jit::Stack Loan::host_arguments(Arguments arguments) const {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (c10::IValue& value : stack) {
    replace_tensors(
        value, [&](const at::Tensor& tensor) { return is_on_device(tensor) ? host_tensor(tensor) : tensor; });
  }
  return stack;
}

void Loan::settle() {
  if (maps_) maps_->unmap();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].written) fit_storage(i);
  }
  for (Entry& entry : entries_) {
    if (!entry.written) continue;
    write_back(entry);
    settle_shape(entry);
    if (C10_UNLIKELY(entry.original.is_quantized())) settle_quantizer(entry);
  }
}

// A kernel that resized an output has moved the CPU storage; the device's has to grow with it.
void Loan::fit_storage(size_t place) {
  const Buffer& buffer = buffers_[place];
  const bool moved = buffer.host.data() != buffer.data || buffer.host.nbytes() != buffer.bytes;
  if (!moved) return;
  has_resized_ = has_resized_ || std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
                   return entry.buffer == place && entry.original.numel() != 0;
                 });
  const uint64_t end = buffer.span.begin + buffer.host.nbytes();
  const c10::Storage storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(buffer.storage));
  if (end > buffer.storage->nbytes()) at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(storage, end);
}

// Just the bytes the tensor spans: what lies beside them may be somebody else's by now.
void Loan::write_back(const Entry& entry) {
  const Buffer& buffer = buffers_[entry.buffer];
  const bool is_there = kind_ == LoanKind::kBorrow || buffer.is_mapped;
  if (is_there && buffer.host.data() == buffer.data) return;
  const ByteSpan span = span_of(entry.host);
  write_storage(static_cast<const char*>(buffer.host.data()) + span.begin, *buffer.storage,
                buffer.span.begin + span.begin, span.bytes(), stream_);
  bytes_moved_ += span.bytes();
}

void Loan::settle_shape(Entry& entry) {
  if (entry.host.is_conj() != entry.original.is_conj()) entry.original._set_conj(entry.host.is_conj());
  if (entry.host.is_neg() != entry.original.is_neg()) entry.original._set_neg(entry.host.is_neg());
  const int64_t offset = entry.host.storage_offset() + items_before(buffers_[entry.buffer].span, entry.host);
  const bool same = entry.host.sizes() == entry.original.sizes() &&
                    entry.host.strides() == entry.original.strides() &&
                    offset == entry.original.storage_offset();
  if (same) return;
  entry.is_shaped = entry.original.numel() == 0 && offset == entry.original.storage_offset();
  has_resized_ = has_resized_ || !entry.is_shaped;
  entry.original.unsafeGetTensorImpl()->set_sizes_and_strides(entry.host.sizes(), entry.host.strides(),
                                                              offset);
}

void Loan::settle_quantizer(const Entry& entry) {
  const at::QuantizerPtr now = quantizer_of(entry.host);
  if (now != quantizer_of(entry.original))
    set_quantizer(entry.original, move_quantizer(now, entry.original.device()));
}

size_t Loan::shaped_count() const {
  const auto is_shaped = [](const Entry& entry) { return entry.is_shaped; };
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), is_shaped));
}

int64_t Loan::position_of(const at::Tensor& host) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].host.is_same(host)) return static_cast<int64_t>(i);
  }
  return -1;
}

bool Loan::shares_memory(const at::Tensor& host) const {
  return std::any_of(buffers_.begin(), buffers_.end(),
                     [&](const Buffer& buffer) { return buffer.host.is_alias_of(host.storage()); });
}

// A tensor on the memory of an original.
at::Tensor Loan::make_view(const Entry& entry, const at::Tensor& host) {
  c10::Storage storage(entry.original.storage());
  if (C10_LIKELY(!host.is_quantized())) {
    return at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage),
                                                    entry.original.key_set(), host.dtype());
  }
  const at::QuantizerPtr quantizer = quantizer_of(host);
  const bool is_same = entry.host.is_quantized() && quantizer == quantizer_of(entry.host);
  return make_quantized(
      std::move(storage), host.dtype(),
      is_same ? quantizer_of(entry.original) : move_quantizer(quantizer, entry.original.device()));
}

at::Tensor Loan::result(const at::Tensor& host) {
  const int64_t position = position_of(host);
  if (position >= 0) return entries_[static_cast<size_t>(position)].original;
  for (const Entry& entry : entries_) {
    const Buffer& buffer = buffers_[entry.buffer];
    if (!buffer.host.is_alias_of(host.storage())) continue;
    at::Tensor view = make_view(entry, host);
    view.unsafeGetTensorImpl()->set_sizes_and_strides(
        host.sizes(), host.strides(), host.storage_offset() + items_before(buffer.span, host));
    if (host.is_conj() != view.is_conj()) view._set_conj(host.is_conj());
    if (host.is_neg() != view.is_neg()) view._set_neg(host.is_neg());
    return view;
  }
  if (kind_ == LoanKind::kStage) bytes_moved_ += span_of(host).bytes();
  return host.is_quantized() ? copy_quantized_to_device(host, stream_) : copy_to_device(host, stream_);
}

}  // namespace torchplug::aten
