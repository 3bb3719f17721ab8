#include "aten/own/shape_text.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "aten/own/text_reader.h"
#include "aten/plan/operator_facts.h"

namespace torchplug::aten {
namespace {

using Expression = ShapeText::Expression;
using Dimensions = ShapeText::Dimensions;
using Dtype = ShapeText::Dtype;
using Shape = ShapeText::Shape;

bool is_list_of(const c10::TypePtr& type, c10::TypeKind kind) {
  const auto* list = type->castRaw<c10::ListType>();
  return list != nullptr && without_optional(list->getElementType())->kind() == kind;
}

bool is_integer(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::IntType || type->kind() == c10::TypeKind::SymIntType;
}

// ---- reading ----

class ShapeReader {
 public:
  ShapeReader(const std::string& text, const c10::FunctionSchema& schema)
      : reader_("The shapes of " + full_name(schema.operator_name()), text), schema_(schema) {}

  std::vector<ShapeText::Result> read() {
    std::vector<ShapeText::Result> results;
    const auto returned = returned_arguments(schema_);
    for (size_t i = 0; i < returned.size(); ++i) {
      const c10::TypePtr& type = schema_.returns()[i].real_type();
      const bool is_list = aten::is_list_of_tensors(type);
      if (returned[i] || (!is_list && type->kind() != c10::TypeKind::TensorType)) continue;
      if (!results.empty()) reader_.expect(";");
      results.push_back(is_list ? read_list() : read_tensor());
    }
    if (!reader_.is_at_end()) {
      reader_.fail("expected the end after " + std::to_string(results.size()) +
                   (results.size() == 1 ? " shape" : " shapes") +
                   ", one for each result that is no argument");
    }
    return results;
  }

 private:
  std::optional<size_t> find(const std::string& name) const {
    const auto& arguments = schema_.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == name) return i;
    }
    return std::nullopt;
  }
  c10::TypePtr type_of(size_t argument) const {
    return without_optional(schema_.arguments()[argument].real_type());
  }
  bool is_tensor(size_t argument) const { return type_of(argument)->kind() == c10::TypeKind::TensorType; }

  // An argument by the name that has been read.
  size_t resolve(const std::string& name, size_t begin) {
    if (const auto found = find(name)) return *found;
    refuse(begin, "there is no argument '" + name + "'");
  }
  [[noreturn]] void refuse(size_t begin, const std::string& why) {
    reader_.go_back(begin);
    reader_.fail(why);
  }
  size_t expect_tensor() {
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("the name of a tensor");
    const size_t argument = resolve(name, begin);
    if (!is_tensor(argument)) refuse(begin, "'" + name + "' is not a tensor");
    return argument;
  }
  size_t expect_tensors() {
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("the name of a list of tensors");
    const size_t argument = resolve(name, begin);
    if (!is_list_of(type_of(argument), c10::TypeKind::TensorType))
      refuse(begin, "'" + name + "' is not a list of tensors");
    return argument;
  }

  ShapeText::Result read_tensor() {
    ShapeText::Result result{{}, {}, read_shape()};
    const size_t begin = reader_.place();
    if (reader_.accept_name() == "if") {
      result.condition = read_condition();
    } else {
      reader_.go_back(begin);
    }
    return result;
  }

  ShapeText::Condition read_condition() {
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("the name of a bool, or of a list of them");
    const size_t argument = resolve(name, begin);
    if (schema_.arguments()[argument].real_type()->kind() == c10::TypeKind::BoolType) return {argument, {}};
    if (!is_list_of(schema_.arguments()[argument].real_type(), c10::TypeKind::BoolType))
      refuse(begin, "'" + name + "' is neither a bool nor a list of them");
    reader_.expect(".");
    const auto item = reader_.is_digit_next() ? reader_.accept_integer() : std::nullopt;
    if (!item) reader_.fail("expected the number of an item");
    return {argument, item};
  }

  ShapeText::Result read_list() {
    const size_t begin = reader_.place();
    if (reader_.accept_name() == "each") return {expect_tensors(), {}, {}};
    reader_.go_back(begin);
    Expression count = read_primary();
    reader_.expect("*");
    return {{}, std::move(count), read_shape()};
  }

  Shape read_shape() {
    if (!reader_.accept("[")) return {expect_tensor(), {}, {}};
    Shape shape;
    if (!reader_.accept("]")) {
      do {
        shape.dimensions.push_back(read_dimensions());
      } while (reader_.accept(","));
      if (!reader_.accept("]")) reader_.fail("expected ',' or ']'");
    }
    do {
      shape.dtypes.push_back(read_dtype());
    } while (reader_.accept("|"));
    return shape;
  }

  Dtype read_dtype() {
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("a dtype, or the name of a tensor whose dtype it is");
    if (const auto argument = find(name)) {
      if (is_tensor(*argument)) return {Dtype::Kind::kTensor, *argument, {}};
      if (type_of(*argument)->kind() == c10::TypeKind::ScalarTypeType)
        return {Dtype::Kind::kArgument, *argument, {}};
      refuse(begin, "'" + name + "' is neither a tensor nor a dtype");
    }
    const auto& dtypes = c10::getStringToDtypeMap();
    const auto found = dtypes.find(name);
    if (found == dtypes.end()) refuse(begin, "there is no argument and no dtype '" + name + "'");
    return {Dtype::Kind::kFixed, 0, found->second};
  }

  Dimensions read_dimensions() {
    const size_t begin = reader_.place();
    const std::string name = reader_.accept_name();
    if (const auto argument = find(name)) {
      if (reader_.accept("[")) return read_slice(*argument, begin);
      if (is_list_of(type_of(*argument), c10::TypeKind::IntType) ||
          is_list_of(type_of(*argument), c10::TypeKind::SymIntType))
        return {Dimensions::Kind::kListed, {}, *argument, {}, {}};
    }
    reader_.go_back(begin);
    return {Dimensions::Kind::kOne, read_sum(), 0, {}, {}};
  }

  Dimensions read_slice(size_t argument, size_t begin) {
    if (!is_tensor(argument)) refuse(begin, "only sizes of a tensor can be sliced");
    Dimensions slice{Dimensions::Kind::kSlice, {}, argument, {}, {}};
    slice.begin = reader_.accept_integer();
    reader_.expect(":");
    slice.end = reader_.accept_integer();
    reader_.expect("]");
    return slice;
  }

  Expression read_sum() {
    const TextReader::Depth depth(reader_);
    Expression sum = read_product();
    for (;;) {
      if (reader_.accept("+")) {
        sum = both(Expression::Kind::kAdd, std::move(sum), read_product());
      } else if (reader_.accept("-")) {
        sum = both(Expression::Kind::kSubtract, std::move(sum), read_product());
      } else {
        return sum;
      }
    }
  }

  Expression read_product() {
    Expression product = read_primary();
    for (;;) {
      if (reader_.accept("*")) {
        product = both(Expression::Kind::kMultiply, std::move(product), read_primary());
      } else if (reader_.accept("//")) {
        product = both(Expression::Kind::kDivide, std::move(product), read_primary());
      } else if (reader_.accept("%")) {
        product = both(Expression::Kind::kModulo, std::move(product), read_primary());
      } else {
        return product;
      }
    }
  }

  Expression read_primary() {
    const TextReader::Depth depth(reader_);
    if (reader_.accept("-")) return {Expression::Kind::kNegate, 0, 0, {read_primary()}};
    if (reader_.accept("(")) {
      Expression inside = read_sum();
      reader_.expect(")");
      return inside;
    }
    if (const auto number = reader_.accept_integer()) return {Expression::Kind::kNumber, *number, 0, {}};
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("a number, an argument or '('");
    if (const auto argument = find(name)) return read_argument(*argument, begin);
    if (name == "len") return read_length();
    if (name == "min") return read_extreme(Expression::Kind::kMin);
    if (name == "max") return read_extreme(Expression::Kind::kMax);
    refuse(begin, "there is no argument '" + name + "'");
  }

  Expression read_argument(size_t argument, size_t begin) {
    if (is_integer(type_of(argument))) return {Expression::Kind::kInteger, 0, argument, {}};
    if (!is_tensor(argument))
      refuse(begin, "'" + schema_.arguments()[argument].name() + "' is neither a tensor nor an integer");
    reader_.expect(".");
    const auto dimension = reader_.accept_integer();
    if (!dimension) reader_.fail("expected the number of a dimension");
    return {Expression::Kind::kSize, *dimension, argument, {}};
  }

  Expression read_length() {
    reader_.expect("(");
    const size_t begin = reader_.place();
    const std::string name = reader_.expect_name("the name of a list");
    const size_t argument = resolve(name, begin);
    if (type_of(argument)->kind() != c10::TypeKind::ListType) refuse(begin, "'" + name + "' is not a list");
    reader_.expect(")");
    return {Expression::Kind::kLength, 0, argument, {}};
  }

  Expression read_extreme(Expression::Kind kind) {
    reader_.expect("(");
    Expression first = read_sum();
    reader_.expect(",");
    Expression second = read_sum();
    reader_.expect(")");
    return both(kind, std::move(first), std::move(second));
  }

  static Expression both(Expression::Kind kind, Expression first, Expression second) {
    Expression expression{kind, 0, 0, {}};
    expression.operands.push_back(std::move(first));
    expression.operands.push_back(std::move(second));
    return expression;
  }

  TextReader reader_;
  const c10::FunctionSchema& schema_;
};

// ---- evaluating ----

// What both kinds of integers are asked.
std::optional<int64_t> known_value(int64_t number) { return number; }
std::optional<int64_t> known_value(const c10::SymInt& number) { return number.maybe_as_int(); }

int64_t floor_divided(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

template <class Int>
class Evaluation {
 public:
  Evaluation(const std::string& name, const std::vector<std::string>& names, Arguments arguments)
      : name_(name), names_(names), arguments_(arguments) {}

  ShapedResult<Int> result(const ShapeText::Result& result) const {
    ShapedResult<Int> shaped{result.each || result.count, {}};
    if (result.each) {
      const c10::IValue& list = arguments_[*result.each];
      for (const c10::IValue& item : items_of(*result.each, list))
        shaped.tensors.push_back(like(item.toTensor()));
      return shaped;
    }
    if (result.condition && !is_met(*result.condition)) return shaped;
    const int64_t count = result.count ? count_of(*result.count) : 1;
    if (count > 0) shaped.tensors.assign(static_cast<size_t>(count), tensor(result.shape));
    return shaped;
  }

 private:
  template <class... Words>
  [[noreturn]] void refuse(const Words&... words) const {
    TORCH_CHECK(false, name_, ": ", words...);
  }

  bool is_met(const ShapeText::Condition& condition) const {
    const c10::IValue& given = arguments_[condition.argument];
    if (!condition.item) return given.toBool();
    const auto items = given.toListRef();
    if (*condition.item >= static_cast<int64_t>(items.size()))
      refuse("argument '", names_[condition.argument], "' has ", items.size(), " items, and item ",
             *condition.item, " is needed.");
    return items[static_cast<size_t>(*condition.item)].toBool();
  }

  int64_t count_of(const Expression& expression) const {
    const auto count = known_value(value(expression));
    if (!count)
      refuse("the number of tensors in its result must not depend on sizes that a trace leaves open.");
    if (*count < 0) refuse("its result would have ", *count, " tensors.");
    return *count;
  }

  std::vector<c10::IValue> items_of(size_t argument, const c10::IValue& list) const {
    std::vector<c10::IValue> items;
    if (!list.isList())
      refuse("the shapes of its results need argument '", names_[argument], "', which is None.");
    for (const c10::IValue& item : list.toListRef()) {
      if (!item.isTensor() || !item.toTensor().defined())
        refuse("the shapes of its results need all tensors of '", names_[argument], "', and one is None.");
      items.push_back(item);
    }
    return items;
  }

  const at::Tensor& tensor_of(size_t argument) const {
    const c10::IValue& value = arguments_[argument];
    if (!value.isTensor() || !value.toTensor().defined())
      refuse("the shapes of its results need tensor '", names_[argument], "', which is None.");
    return value.toTensor();
  }

  static std::vector<Int> sizes_of(const at::Tensor& tensor) {
    if constexpr (std::is_same_v<Int, int64_t>) {
      return tensor.sizes().vec();
    } else {
      return tensor.sym_sizes().vec();
    }
  }

  static Int integer_of(const c10::IValue& value) {
    if constexpr (std::is_same_v<Int, int64_t>) {
      return value.toInt();
    } else {
      return value.isSymInt() ? value.toSymInt() : c10::SymInt(value.toInt());
    }
  }

  static ShapedTensor<Int> like(const at::Tensor& tensor) { return {sizes_of(tensor), tensor.scalar_type()}; }

  ShapedTensor<Int> tensor(const Shape& shape) const {
    if (shape.like) return like(tensor_of(*shape.like));
    ShapedTensor<Int> shaped;
    for (const Dimensions& dimensions : shape.dimensions) add(dimensions, shaped.sizes);
    for (size_t d = 0; d < shaped.sizes.size(); ++d) {
      const auto size = known_value(shaped.sizes[d]);
      if (size && *size < 0) refuse("dimension ", d, " of its result would have size ", *size, ".");
    }
    shaped.dtype = dtype(shape.dtypes);
    return shaped;
  }

  at::ScalarType dtype(const std::vector<Dtype>& choices) const {
    for (const Dtype& choice : choices) {
      if (choice.kind == Dtype::Kind::kFixed) return choice.fixed;
      const c10::IValue& value = arguments_[choice.argument];
      if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) continue;
      return choice.kind == Dtype::Kind::kTensor ? value.toTensor().scalar_type() : value.toScalarType();
    }
    refuse("the dtype of its result is that of '", names_[choices.back().argument], "', which is None.");
  }

  void add(const Dimensions& dimensions, std::vector<Int>& sizes) const {
    if (dimensions.kind == Dimensions::Kind::kOne) {
      sizes.push_back(value(dimensions.size));
    } else if (dimensions.kind == Dimensions::Kind::kListed) {
      const c10::IValue& list = arguments_[dimensions.argument];
      if (!list.isList())
        refuse("the shapes of its results need argument '", names_[dimensions.argument], "', which is None.");
      for (const c10::IValue& size : list.toListRef()) sizes.push_back(integer_of(size));
    } else {
      const std::vector<Int> all = sizes_of(tensor_of(dimensions.argument));
      const auto bound = [&](std::optional<int64_t> place, int64_t standard) {
        const auto count = static_cast<int64_t>(all.size());
        const int64_t wanted = place.value_or(standard);
        return std::clamp<int64_t>(wanted < 0 ? wanted + count : wanted, 0, count);
      };
      const int64_t begin = bound(dimensions.begin, 0);
      const int64_t end = bound(dimensions.end, static_cast<int64_t>(all.size()));
      for (int64_t d = begin; d < end; ++d) sizes.push_back(all[static_cast<size_t>(d)]);
    }
  }

  Int size(size_t argument, int64_t dimension) const {
    const std::vector<Int> sizes = sizes_of(tensor_of(argument));
    const auto count = static_cast<int64_t>(sizes.size());
    if (dimension < -count || dimension >= count)
      refuse("tensor '", names_[argument], "' has ", count, " dimensions, and dimension ", dimension,
             " is needed.");
    return sizes[static_cast<size_t>(dimension < 0 ? dimension + count : dimension)];
  }

  Int length(size_t argument) const {
    const c10::IValue& list = arguments_[argument];
    if (!list.isList())
      refuse("the shapes of its results need argument '", names_[argument], "', which is None.");
    return Int(static_cast<int64_t>(list.toListRef().size()));
  }

  Int value(const Expression& expression) const {
    switch (expression.kind) {
      case Expression::Kind::kNumber: return Int(expression.number);
      case Expression::Kind::kSize: return size(expression.argument, expression.number);
      case Expression::Kind::kInteger: {
        const c10::IValue& given = arguments_[expression.argument];
        if (given.isNone())
          refuse("the shapes of its results need argument '", names_[expression.argument],
                 "', which is None.");
        return integer_of(given);
      }
      case Expression::Kind::kLength: return length(expression.argument);
      case Expression::Kind::kNegate:
        return combine(Expression::Kind::kSubtract, Int(0), value(expression.operands[0]));
      default: return combine(expression.kind, value(expression.operands[0]), value(expression.operands[1]));
    }
  }

  Int combine(Expression::Kind kind, const Int& a, const Int& b) const {
    const auto known_a = known_value(a);
    const auto known_b = known_value(b);
    if (known_a && known_b) return Int(combine_known(kind, *known_a, *known_b));
    if constexpr (std::is_same_v<Int, c10::SymInt>) {
      switch (kind) {
        case Expression::Kind::kAdd: return a + b;
        case Expression::Kind::kSubtract: return a - b;
        case Expression::Kind::kMultiply: return a * b;
        case Expression::Kind::kDivide: return a / b;  // Python's //, where one of them is a symbol
        case Expression::Kind::kModulo: return a % b;
        case Expression::Kind::kMin: return a.min(b);
        default: return a.max(b);
      }
    }
    return a;
  }

  int64_t combine_known(Expression::Kind kind, int64_t a, int64_t b) const {
    int64_t combined = 0;
    bool overflows = false;
    switch (kind) {
      case Expression::Kind::kAdd: overflows = __builtin_add_overflow(a, b, &combined); break;
      case Expression::Kind::kSubtract: overflows = __builtin_sub_overflow(a, b, &combined); break;
      case Expression::Kind::kMultiply: overflows = __builtin_mul_overflow(a, b, &combined); break;
      case Expression::Kind::kMin: return std::min(a, b);
      case Expression::Kind::kMax: return std::max(a, b);
      default:
        if (b == 0) refuse("the shapes of its results divide ", a, " by 0.");
        if (b == -1)
          return combine_known(Expression::Kind::kSubtract, 0, kind == Expression::Kind::kDivide ? a : 0);
        return kind == Expression::Kind::kDivide ? floor_divided(a, b) : a - floor_divided(a, b) * b;
    }
    if (overflows) refuse("a size of its results is too large.");
    return combined;
  }

  const std::string& name_;
  const std::vector<std::string>& names_;
  Arguments arguments_;
};

}  // namespace

bool is_list_of_tensors(const c10::TypePtr& type) { return is_list_of(type, c10::TypeKind::TensorType); }

std::vector<std::optional<size_t>> returned_arguments(const c10::FunctionSchema& schema) {
  std::vector<std::optional<size_t>> returned(schema.returns().size());
  for (size_t i = 0; i < returned.size(); ++i) {
    const auto* result = schema.returns()[i].alias_info();
    if (result == nullptr) continue;
    for (size_t place = 0; place < schema.arguments().size(); ++place) {
      const auto* argument = schema.arguments()[place].alias_info();
      if (argument != nullptr && argument->beforeSets() == result->beforeSets()) returned[i] = place;
    }
  }
  return returned;
}

ShapeText::ShapeText(const std::string& text, const c10::FunctionSchema& schema)
    : name_(full_name(schema.operator_name())), results_(ShapeReader(text, schema).read()) {
  for (const c10::Argument& argument : schema.arguments()) arguments_.push_back(argument.name());
}

template <class Int>
std::vector<ShapedResult<Int>> ShapeText::evaluate(Arguments arguments) const {
  const Evaluation<Int> evaluation(name_, arguments_, arguments);
  std::vector<ShapedResult<Int>> shaped;
  shaped.reserve(results_.size());
  for (const Result& result : results_) shaped.push_back(evaluation.result(result));
  return shaped;
}

template std::vector<ShapedResult<int64_t>> ShapeText::evaluate(Arguments) const;
template std::vector<ShapedResult<c10::SymInt>> ShapeText::evaluate(Arguments) const;

}  // namespace torchplug::aten
