#include "nest_writer.h"

#include <utility>

#include "error.h"

namespace torchplug::sim::compiler {
namespace {

using Kind = Expr::Kind;

}  // namespace

std::string replaced(const std::string& text, const std::vector<std::string>& args) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size()) {
      made += args[static_cast<std::size_t>(text[++i] - '0')];
    } else {
      made += text[i];
    }
  }
  return made;
}

FoldCode code_of(Fold fold, Type type) {
  const bool real = is_real(type);
  const std::string name = value_name(type);
  const auto limit = [&](bool most) {
    if (real) return literal(most ? -__builtin_inf() : __builtin_inf(), type);
    return "limit<" + name + ">(" + (most ? "false)" : "true)");
  };
  switch (fold) {
    case Fold::kSum: return {"0", "$0 + $1", "+"};
    case Fold::kProduct: return {"1", "$0 * $1", "*"};
    case Fold::kMost: return {limit(true), "x_max($0, $1)", "most"};
    case Fold::kLeast: return {limit(false), "x_min($0, $1)", "least"};
    case Fold::kAny: return {"0", "$0 | $1", "|"};
    case Fold::kAll: return {"1", "$0 & $1", "&"};
    default: return {};
  }
}

NestCode NestWriter::run() {
  NestCode code;
  emit(code);
  code.body = std::move(out_);
  return code;
}

void NestWriter::line(const std::string& text) {
  out_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
}

void NestWriter::open_loop(const std::string& variable, const std::string& first, const std::string& end) {
  open("for (int64_t " + variable + " = " + first + "; " + variable + " < " + end + "; ++" + variable + ")");
}

void NestWriter::open(const std::string& text) {
  line(text + " {");
  ++depth_;
}

void NestWriter::close() {
  --depth_;
  line("}");
}

void NestWriter::decode(std::size_t dim) {
  const std::string size = nest_.outer[dim].text();
  line("const int64_t o" + std::to_string(dim) + " = left % " + size + "; left /= " + size + ";");
}

std::string NestWriter::address(int index) const {
  const Buffer& from = buffer(index);
  const std::string number = std::to_string(from.index);
  switch (from.origin) {
    case Buffer::Origin::kInput: return "a->in[" + number + "]";
    case Buffer::Origin::kOutput: return "a->out[" + number + "]";
    case Buffer::Origin::kConstant: return "(a->constants + " + number + ")";
    default: break;
  }
  const int slot = plan_.slots[static_cast<std::size_t>(index)];
  if (slot < 0) fail(PLUG_INTERNAL, "Buffer ", index, " of the engine has no place.");
  return "(a->scratch + (" + plan_.offsets[static_cast<std::size_t>(slot)] + "))";
}

std::string NestWriter::sum(const Affine& place, bool inner) const {
  std::string text;
  const auto add = [&](const std::string& term) { text += (text.empty() ? "" : " + ") + term; };
  if (!inner && !place.offset.is(0)) add(place.offset.text());
  for (std::size_t d = 0; d < place.coefs.size(); ++d) {
    const Poly& coef = place.coefs[d];
    if (is_inner(d) != inner || coef.is(0)) continue;
    add(coef.is(1) ? variables_[d] : variables_[d] + "*" + coef.text());
  }
  return text.empty() ? "0" : text;
}

bool NestWriter::varies(const Affine& place) const {
  for (std::size_t d = nest_.outer.size(); d < place.coefs.size(); ++d) {
    if (!place.coefs[d].is(0)) return true;
  }
  return false;
}

bool NestWriter::varies(const Expr* expr) {
  if (const auto found = varies_.find(expr); found != varies_.end()) return found->second;
  bool does = (expr->kind == Kind::kPosition || expr->kind == Kind::kLoad) && varies(expr->place);
  if (expr->kind == Kind::kLoad && row_values_.contains(expr->buffer)) does = false;
  for (const Expr* arg : expr->args) does = varies(arg) || does;
  return varies_[expr] = does;
}

std::string NestWriter::pointer(int index, const Affine& place, bool is_written) {
  const std::string row = sum(place, false);
  const std::string key = std::to_string(index) + (is_written ? "w" : "r") + row;
  const auto [found, is_new] = pointers_.try_emplace(key, "p" + std::to_string(pointers_.size()));
  if (is_new) {
    const std::string type = std::string(is_written ? "" : "const ") + memory_name(buffer(index).type) + "*";
    row_code_ +=
        type + " const " + found->second + " = (" + type + ")" + address(index) + " + (" + row + ");\n";
  }
  return found->second;
}

std::string NestWriter::value(const Expr* expr) {
  if (expr->kind == Kind::kNumber) return expr->text;
  if (expr->kind == Kind::kLoad) {
    if (const auto found = row_values_.find(expr->buffer); found != row_values_.end()) return found->second;
  }
  const bool inner = varies(expr);
  auto& known = inner ? inner_names_ : row_names_;
  if (const auto found = known.find(expr); found != known.end()) return found->second;
  std::string text;
  const auto temp = temps_.find(expr);
  const bool is_kept = temp != temps_.end() && temp->second.is_filled;
  if (is_kept) {
    text = temp->second.place;
  } else {
    text = compute(expr);
  }
  const std::string name = "v" + std::to_string(names_++);
  (inner ? inner_code_ : row_code_) +=
      "const " + std::string(value_name(expr->type)) + " " + name + " = " + text + ";\n";
  if (inner && temp != temps_.end() && !is_kept) {
    inner_code_ += temp->second.place + " = " + name + ";\n";
    filled_now_.push_back(expr);
  }
  known[expr] = name;
  return name;
}

void NestWriter::fill_temps() {
  for (const Expr* expr : filled_now_) temps_[expr].is_filled = true;
  filled_now_.clear();
}

std::string NestWriter::compute(const Expr* expr) {
  std::vector<std::string> args;
  args.reserve(expr->args.size());
  for (const Expr* arg : expr->args) args.push_back(value(arg));
  if (expr->kind == Kind::kApply) return replaced(expr->text, args);
  if (expr->kind == Kind::kPosition) return sum(expr->place, false) + " + " + sum(expr->place, true);
  if (const auto found = turned_.find(expr); found != turned_.end())
    return loaded(buffer(expr->buffer).type, found->second);
  std::string index = sum(expr->place, true);
  for (std::size_t k = 0; k < args.size(); ++k) index += " + " + args[k] + "*" + expr->steps[k].text();
  return loaded(buffer(expr->buffer).type, pointer(expr->buffer, expr->place, false) + "[" + index + "]");
}

std::string NestWriter::linear() const {
  std::string text;
  const std::vector<Poly> strides = contiguous(nest_.inner);
  for (std::size_t d = 0; d < nest_.inner.size(); ++d) {
    const std::string& variable = variables_[nest_.outer.size() + d];
    text += (text.empty() ? "" : " + ") + (strides[d].is(1) ? variable : variable + "*" + strides[d].text());
  }
  return text.empty() ? "0" : text;
}

void NestWriter::write(const std::string& code) {
  std::size_t at = 0;
  while (at < code.size()) {
    const std::size_t end = code.find('\n', at);
    line(code.substr(at, end - at));
    at = end + 1;
  }
}

void NestWriter::flush(std::string& code) {
  write(code);
  code.clear();
}

void NestWriter::put(const Stage& stage, const std::string& text, std::string& code) {
  const Buffer& to = buffer(stage.buffer);
  std::string index = sum(stage.place, true);
  const std::string place = pointer(stage.buffer, stage.place, true) + "[" + index + "]";
  code += place + " = " + stored(to.type, text) + ";\n";
}

}  // namespace torchplug::sim::compiler
