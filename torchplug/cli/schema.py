"""`torchplug schema`: what a kernel for an operator is given, and what to bind."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from typing import TYPE_CHECKING, Any

from torchplug import _schemas
from torchplug.cli import families, output

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100  # of sentences; a line for a table is as long as it is

NAME = "schema"
SUMMARY = "what a kernel for an operator is given, and what to bind"
DESCRIPTION = """Prints for each operator of PyTorch, or function that is composed of some, what a kernel for it is given,
argument by argument; the line for the kernel's table; which other forms that kernel serves; and what its gradient calls.
torchplug schema relu addmm; torchplug schema conv2d; torchplug schema --for norms. Exits with 2 if there is none."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="relu, add.Tensor, conv2d")
    parser.add_argument(
        "--for", dest="topic", choices=[*families.TOPICS], help="what to bind for it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if not args.operators and args.topic is None:
        topics = ", ".join(families.TOPICS)
        output.complain(
            f"There is no operator to show. Give a name, or --for with one of {topics}."
        )
        return 2
    answers: list[dict[str, Any]] = [
        of_family(family) for family in families.TOPICS.get(args.topic, ())
    ]
    for name in args.operators:
        answer = look_up(name.removeprefix("aten::"))
        if isinstance(answer, str):
            output.complain(answer)
            return 2
        answers.append(answer)
    if args.json:
        output.print_json(answers)
        return 0
    console = output.console(wraps=False)
    for index, answer in enumerate(answers):
        if index:
            print()
        show(console, answer)
    return 0


def look_up(name: str) -> dict[str, Any] | str:
    """What is known of a name; a sentence if it is nobody's."""
    operators = _schemas.operators()
    if (family := families.of_call(name)) is not None:
        return of_family(family)
    if name in operators and "." in name:
        return facts(name, [operators[name]])
    overloads = [operators[other] for other in sorted(operators) if operators[other].base == name]
    if overloads:
        bindable = [operator for operator in overloads if _schemas.obstacle(operator) is None]
        return facts(name, bindable or overloads)
    known = {operator.base for operator in operators.values()} | {*operators}
    known |= {call for family in families.ALL for call in family.calls}
    near = difflib.get_close_matches(name, sorted(known), n=3)
    hint = f" Nearest: {', '.join(near)}." if near else ""
    return f"PyTorch has no operator aten::{name}.{hint}"


def of_family(family: families.Family) -> dict[str, Any]:
    """Of what reaches the device for one of its calls. An earlier PyTorch may lack some."""
    operators = _schemas.operators()
    found = [operators[name] for name in family.bind if name in operators]
    return facts(", ".join(family.calls), found, note=family.note)


def facts(name: str, operators: list[_schemas.Operator], note: str = "") -> dict[str, Any]:
    return {"asked": name, "note": note, "operators": [describe(o) for o in operators]}


def describe(operator: _schemas.Operator) -> dict[str, Any]:
    """All that is printed of one operator."""
    return {
        "name": f"aten::{operator.name}",
        "schema": operator.schema,
        "obstacle": _schemas.obstacle(operator),
        "arguments": [argument(a) for a in operator.arguments],
        "results": [result(r, operator.mask) for r in operator.results],
        "line": line(operator),
        "serves": [f"aten::{form.name}" for form in _schemas.forms(operator)],
        "gradients": _schemas.gradients(operator),
        "backward": [f"aten::{name}" for name in _schemas.backward_operators(operator)],
        "pointwise": "pointwise" in _schemas.tags(operator),
    }


def argument(given: _schemas.Argument) -> dict[str, Any]:
    tag, reads = given.read_as
    return {
        "place": given.place,
        "name": given.name,
        "type": given.type,
        "tag": tag,
        "read": reads,
        "default": given.default,
    }


def result(given: _schemas.Argument, mask: _schemas.Argument | None) -> dict[str, Any]:
    """As an argument; with a mask, which says whether it is wanted."""
    described = argument(given)
    if mask is not None:
        described["tag"] = f"PLUG_NONE or {described['tag']}"
        described["default"] = f"PLUG_NONE unless {mask.name}[{given.place}]"
    return described


def line(operator: _schemas.Operator) -> str:
    """For a list of plug_kernel, in C."""
    schema = operator.schema.replace("\\", "\\\\").replace('"', '\\"')
    function = operator.name.replace(".", "_").strip("_").lower()
    return f'{{.schema = "{schema}", .fn = {function}, .accepts = 0}},'


def show(console: Console, answer: dict[str, Any]) -> None:
    if len(answer["operators"]) != 1 or answer["note"]:
        names = ", ".join(operator["name"] for operator in answer["operators"])
        print(f"{answer['asked']}: {names}")
    if answer["note"]:
        print(textwrap.fill(answer["note"], WIDTH))
    for index, operator in enumerate(answer["operators"]):
        if index or len(answer["operators"]) != 1 or answer["note"]:
            print()
        show_operator(console, operator)


def show_operator(console: Console, operator: dict[str, Any]) -> None:
    print(operator["schema"])
    if operator["obstacle"] is not None:
        print(f"No kernel can be bound to it: {operator['obstacle']}")
        return
    table = output.table(console, "place", "name", "type", "tag", "read", "default")
    for kind, items in (("args", operator["arguments"]), ("results", operator["results"])):
        for item in items:
            place = f"{kind}[{item['place']}]"
            row = (place, item["name"], item["type"], item["tag"], item["read"], item["default"])
            table.add_row(*(text.replace("[", "\\[") for text in row))
    output.put(console, table)
    print(operator["line"])
    if operator["serves"]:
        print(f"also serves: {', '.join(operator['serves'])}")
    if operator["pointwise"]:
        print("pointwise: the host broadcasts and promotes, unless the kernel accepts to")
    if operator["backward"]:
        print(f"its gradient calls: {', '.join(operator['backward'])}")
    for name, formula in operator["gradients"].items():
        print(f"gradient of {name}: {formula.strip(chr(34))}")
