#include "aten/own/own_operator.h"

#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/kernel/binding.h"
#include "aten/kernel/kernel_arguments.h"
#include "aten/plan/operator_facts.h"
#include "plugin/layers/serialize.h"

namespace torchplug::aten {
namespace {

std::string one_line(const std::string& text) {
  std::string line;
  for (char c : text) {
    const bool is_space = c == '\n' || c == ' ';
    if (!is_space) line += c;
    if (is_space && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (line.ends_with(' ') || line.ends_with('.') || line.ends_with(':')) line.pop_back();
  return line;
}

c10::FunctionSchema read_schema(const Module& module, const plug_kernel& kernel) {
  try {
    return torch::schema(kernel.schema);
  } catch (const std::exception& error) {
    TORCH_CHECK(false, "Plugin '", module.name, "': PyTorch cannot read the schema \"", kernel.schema,
                "\" of an operator: ", one_line(error.what()), ".");
  }
}

bool has_tensor(const c10::TypePtr& type) {
  const auto contained = type->containedTypes();
  return type->kind() == c10::TypeKind::TensorType ||
         std::any_of(contained.begin(), contained.end(), has_tensor);
}

void check_returns(const OwnOperator& own) {
  for (size_t i = 0; i < own.returned.size(); ++i) {
    const c10::Argument& result = own.schema.returns()[i];
    TORCH_CHECK(result.alias_info() == nullptr || result.alias_info()->isWrite(), "Plugin '", own.module.name,
                "': ", own.name,
                " returns a view of an argument, which a kernel cannot make. Return a new tensor, or "
                "mark the argument as written: Tensor(a!).");
    TORCH_CHECK(own.kinds[i] != ResultKind::kOther, "Plugin '", own.module.name, "': ", own.name, " returns ",
                result.type()->str(),
                ", which a kernel cannot give. Return tensors, numbers, or lists of one of them.");
    TORCH_CHECK(result.alias_info() == nullptr || own.returned[i], "Plugin '", own.module.name, "': result ",
                i, " of ", own.name, " is marked as an argument, and no argument has its mark.");
  }
}

void check_arguments(const OwnOperator& own) {
  for (const c10::Argument& argument : own.schema.arguments()) {
    TORCH_CHECK(has_plug_form(argument), "Plugin '", own.module.name, "': argument '", argument.name(),
                "' of ", own.name, " is ", argument.real_type()->str(),
                ", which a kernel cannot be given. Take tensors, numbers, lists of one of them, or a str, "
                "ScalarType, Layout, MemoryFormat, Device or Generator.");
  }
}

// That it says, in one way, what its results look like.
void check_shapes(const OwnOperator& own) {
  const auto is_new = [&](size_t i) { return own.is_new(i); };
  bool any_new = false;
  for (size_t i = 0; i < own.returned.size(); ++i) any_new = any_new || is_new(i);
  const int ways = (own.kernel.shapes != nullptr ? 1 : 0) + (own.kernel.shape != nullptr ? 1 : 0) +
                   (own.accepts(PLUG_SHAPES_OUTPUT) ? 1 : 0);
  TORCH_CHECK(!any_new || ways > 0, "Plugin '", own.module.name, "': nothing says what the results of ",
              own.name, " look like. Set .shapes or .shape of its kernel, or PLUG_SHAPES_OUTPUT.");
  TORCH_CHECK(
      ways < 2, "Plugin '", own.module.name, "': what the results of ", own.name,
      " look like is said in two ways. Set one of .shapes, .shape and PLUG_SHAPES_OUTPUT of its kernel.");
}

void check_gradient(const OwnOperator& own) {
  for (size_t i = 0; i < own.schema.arguments().size(); ++i) {
    const bool is_returned =
        std::find(own.returned.begin(), own.returned.end(), std::optional(i)) != own.returned.end();
    TORCH_CHECK(!own.gradient || !own.writes[i] || is_returned, "Plugin '", own.module.name, "': ", own.name,
                " has a gradient and writes argument '", own.schema.arguments()[i].name(),
                "', which it does not return. Return it, or leave the gradient out.");
  }
}

// Answers host->output for a `shape` function: notes and allocates nothing.
class ShapeCall final : public CallServices {
 public:
  explicit ShapeCall(const OwnOperator& own) : own_(own), shaped_(own.returned.size()) {}

  plug_status scratch(uint64_t /*bytes*/, plug_mem* /*mem*/) override { return refuse("scratch"); }
  plug_status rng(uint64_t /*draws*/, plug_rng* /*rng*/) override { return refuse("rng"); }
  plug_status output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                     const int64_t* strides) override {
    const auto type = to_scalar_type(dtype);
    if (index >= shaped_.size() || !own_.is_new(index) || !type || ndim < 0) return refuse("output");
    const bool is_list = is_list_of_tensors(own_.schema.returns()[index].type());
    std::optional<ShapedResult<int64_t>>& result = shaped_[index];
    if (result && !is_list) return refuse("output");
    if (!result) result.emplace(ShapedResult<int64_t>{is_list, {}});
    ShapedTensor<int64_t> shape{{sizes, sizes + ndim}, *type};
    if (strides != nullptr) shape.strides.assign(strides, strides + ndim);
    result->tensors.push_back(std::move(shape));
    return PLUG_OK;
  }

  // Of a list that has no call: an empty one.
  std::vector<std::optional<ShapedResult<int64_t>>> finish() {
    for (size_t i = 0; i < shaped_.size(); ++i) {
      const bool is_list = is_list_of_tensors(own_.schema.returns()[i].type());
      if (own_.is_new(i) && is_list && !shaped_[i]) shaped_[i] = ShapedResult<int64_t>{true, {}};
      TORCH_CHECK(!own_.is_new(i) || shaped_[i], own_.name, ": its function `shape` did not shape result ", i,
                  ".");
    }
    return std::move(shaped_);
  }

 private:
  plug_status refuse(const char* function) const {
    const std::string sentence = std::string("host->") + function +
                                 " was called in a `shape` function with what it does not allow there";
    own_.module.host.set_error(&own_.module.host, sentence.c_str());
    return PLUG_INVALID;
  }

  const OwnOperator& own_;
  std::vector<std::optional<ShapedResult<int64_t>>> shaped_;
};

// The same without memory, and with numbers for whatever sizes a trace has left open.
at::Tensor without_memory(const at::Tensor& tensor) {
  const auto numbers = [](c10::SymIntArrayRef symbols) {
    std::vector<int64_t> found;
    for (const c10::SymInt& symbol : symbols) found.push_back(symbol.guard_int(__FILE__, __LINE__));
    return found;
  };
  return at::empty_strided(numbers(tensor.sym_sizes()), numbers(tensor.sym_strides()),
                           at::device(at::kMeta).dtype(tensor.scalar_type()));
}

c10::IValue with_numbers(const c10::IValue& value) {
  if (value.isSymInt()) return value.toSymInt().guard_int(__FILE__, __LINE__);
  if (!value.isSymIntList()) return value;
  c10::List<int64_t> numbers;
  for (const c10::IValue& item : value.toListRef())
    numbers.push_back(item.isInt() ? item.toInt() : item.toSymInt().guard_int(__FILE__, __LINE__));
  return numbers;
}

std::vector<std::optional<ShapedResult<int64_t>>> shape_by_function(const OwnOperator& own,
                                                                    Arguments arguments) {
  KernelArguments given(/*device=*/0);
  std::vector<c10::IValue> shown;
  for (const c10::IValue& value : arguments) {
    shown.push_back(with_numbers(value));
    replace_tensors(shown.back(), without_memory);
  }
  given.reserve(shown, own.returned.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    const c10::TypePtr& type = own.schema.arguments()[i].real_type();
    const auto* optional = type->castRaw<c10::OptionalType>();
    given.add_argument(shown[i], optional != nullptr ? optional->getElementType()->kind() : type->kind(),
                       own.writes[i]);
  }
  for (size_t i = 0; i < own.returned.size(); ++i) given.add_result({});
  ShapeCall services(own);
  plug_call call{};
  call.size = sizeof call;
  call.device = PLUG_HOST;
  call.user = own.kernel.user;
  call.args = given.arguments().data();
  call.results = given.results().data();
  call.arg_count = static_cast<uint32_t>(given.arguments().size());
  call.result_count = static_cast<uint32_t>(given.results().size());
  call.host_private = static_cast<CallServices*>(&services);
  call.name = own.name.c_str();
  call.schema = own.text.c_str();
  take_plugin_error();
  plug_status status = PLUG_OK;
  {
    const auto lock = lock_calls(own.module);
    status = own.kernel.shape(&call);
  }
  if (status != PLUG_OK) {
    const std::string said = take_plugin_error();
    TORCH_CHECK(false, own.name, " failed (", status_name(status),
                "): ", said.empty() ? "its function `shape` gave no reason" : said);
  }
  return services.finish();
}

template <class Int>
ShapedResult<Int> converted(ShapedResult<int64_t> given) {
  ShapedResult<Int> result{given.is_list, {}};
  for (const ShapedTensor<int64_t>& tensor : given.tensors)
    result.tensors.push_back({{tensor.sizes.begin(), tensor.sizes.end()},
                              tensor.dtype,
                              {tensor.strides.begin(), tensor.strides.end()}});
  return result;
}

}  // namespace

bool is_own_kernel(const Module& module, const plug_kernel& kernel) {
  return std::string_view(kernel.schema).starts_with(module.name + "::");
}

OwnOperator::OwnOperator(const Module& loaded, const plug_kernel& given)
    : module(loaded),
      kernel(given),
      schema(read_schema(module, kernel)),
      name(full_name(schema.operator_name())),
      text(c10::toString(schema)),
      returned(returned_arguments(schema)),
      kinds(result_kinds(schema)) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool is_marked = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    writes.push_back(is_marked);
    writes_any = writes_any || is_marked;
    takes_tensors = takes_tensors || has_tensor(argument.type());
    TORCH_CHECK(is_marked || i >= 64 || (kernel.writes >> i & 1) == 0, "Plugin '", module.name,
                "': .writes of ", name, " names argument '", argument.name(),
                "', which its schema does not mark. Write Tensor(a!) there.");
  }
  check_arguments(*this);
  check_returns(*this);
  check_shapes(*this);
  if (kernel.shapes != nullptr) shapes.emplace(kernel.shapes, schema);
  if (kernel.gradient != nullptr) gradient.emplace(kernel.gradient, schema);
  check_gradient(*this);
  TORCH_CHECK(module.has_runtime || accepts(PLUG_ACCEPTS_HOST), "Plugin '", module.name,
              "' has no device, and ", name,
              " takes no CPU tensors: nothing could be given to it. Set PLUG_ACCEPTS_HOST of its kernel.");
}

bool OwnOperator::is_new(size_t result) const {
  return !returned[result] && has_tensor(schema.returns()[result].type());
}

bool OwnOperator::may_lack_tensors() const {
  return takes_tensors && std::ranges::none_of(schema.arguments(), [](const c10::Argument& argument) {
           return argument.type()->kind() == c10::TypeKind::TensorType;
         });
}

bool OwnOperator::has_shapes() const {
  for (size_t i = 0; i < returned.size(); ++i) {
    const bool is_number = !returned[i] && !is_new(i);
    if (is_number || (is_new(i) && accepts(PLUG_SHAPES_OUTPUT))) return false;
  }
  return true;
}

namespace {

// PyTorch gives None for a Tensor, and in a list of them, to the operator, as a tensor that is not defined.
void check_is_given(const OwnOperator& own, size_t place, const c10::IValue& value) {
  const c10::Argument& argument = own.schema.arguments()[place];
  const auto refuse = [&](const std::string& what) {
    TORCH_CHECK(false, own.name, " expected a tensor but got None for ", what, "argument #", place + 1, " '",
                argument.name(), "'.");
  };
  const auto is_given = [](const c10::IValue& item) { return item.isTensor() && item.toTensor().defined(); };
  const c10::Type& type = *argument.type();
  if (type.kind() == c10::TypeKind::TensorType && !is_given(value)) refuse("");
  if (type.kind() != c10::TypeKind::ListType || !value.isTensorList()) return;
  if (type.containedType(0)->kind() != c10::TypeKind::TensorType) return;
  const auto items = value.toListRef();
  for (size_t i = 0; i < items.size(); ++i) {
    if (!is_given(items[i])) refuse("item " + std::to_string(i) + " of ");
  }
}

}  // namespace

void check_tensors(const OwnOperator& own, Arguments arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    check_is_given(own, i, arguments[i]);
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      const std::string& argument = own.schema.arguments()[i].name();
      TORCH_CHECK(tensor.layout() == at::kStrided, own.name, ": '", argument, "' is a ", tensor.layout(),
                  " tensor, and kernels take strided ones. Call to_dense() first.");
      const auto dtype = to_plug_dtype(tensor.scalar_type());
      const plug_dtype* list = own.kernel.dtypes;
      const bool is_listed = dtype && (list == nullptr || std::find(list, list + own.kernel.dtype_count,
                                                                    *dtype) != list + own.kernel.dtype_count);
      TORCH_CHECK(is_listed, own.name, ": '", argument, "' is of dtype ", tensor.scalar_type(),
                  ", which its kernel does not take.");
    });
  }
}

template <class Int>
std::vector<std::optional<ShapedResult<Int>>> shape_results(const OwnOperator& own, Arguments arguments) {
  std::vector<std::optional<ShapedResult<Int>>> results(own.returned.size());
  if (own.shapes) {
    auto shaped = own.shapes->evaluate<Int>(arguments);
    size_t next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (own.is_new(i)) results[i] = std::move(shaped[next++]);
    }
  } else if (own.kernel.shape != nullptr) {
    auto shaped = shape_by_function(own, arguments);
    for (size_t i = 0; i < results.size(); ++i) {
      if (auto& result = shaped[i]) results[i] = converted<Int>(std::move(*result));
    }
  }
  return results;
}

template std::vector<std::optional<ShapedResult<int64_t>>> shape_results(const OwnOperator&, Arguments);
template std::vector<std::optional<ShapedResult<c10::SymInt>>> shape_results(const OwnOperator&, Arguments);

}  // namespace torchplug::aten
