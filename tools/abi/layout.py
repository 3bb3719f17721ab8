"""Prints the binary interface that plug.h describes, as text that can be compared.

    python tools/abi/layout.py > tests/abi/plug_v0.txt

Every struct with the offset and size of every member, every constant with its value, and every
function type. The numbers are the C compiler's (cc on the PATH), not this program's.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HEADER = Path(__file__).resolve().parents[2] / "include" / "torchplug" / "plug.h"


class Member(NamedTuple):
    path: str
    """As C names it from the struct: "as.ints"."""
    declaration: str


class Header(NamedTuple):
    structs: dict[str, list[Member]]
    typedefs: dict[str, str]
    constants: list[str]
    functions: list[str]


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def one_line(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text.replace("( ", "(").replace(" )", ")")


def statements(body: str) -> list[str]:
    """What stands between the semicolons of a block, nested blocks whole."""
    found, depth, start = [], 0, 0
    for i, character in enumerate(body):
        depth += (character == "{") - (character == "}")
        if character == ";" and depth == 0:
            found.append(one_line(body[start:i]))
            start = i + 1
    assert not body[start:].strip(), f"not a statement: {body[start:]!r}"
    return found


def members(body: str, prefix: str = "") -> list[Member]:
    found = []
    for statement in statements(body):
        nested = re.fullmatch(r"(?:union|struct) \{(.*)\} (\w+)", statement)
        pointer = re.search(r"\(\*(\w+)\)", statement)
        plain = re.fullmatch(r"[^,()]*?(\w+)(\[\w+\])?", statement)
        if nested:
            path = prefix + nested[2]
            found.append(Member(path, statement.split(" ")[0]))
            found.extend(members(nested[1], path + "."))
            continue
        assert pointer or plain, f"one member a statement, please: {statement}"
        found.append(Member(prefix + (pointer or plain)[1], statement))
    return found


def blocks(text: str, opening: str) -> list[tuple[str, str]]:
    """(name, body) of every block that begins so, up to its closing brace."""
    found = []
    for match in re.finditer(opening + r"\s*\{", text):
        depth, i = 1, match.end()
        while depth:
            depth += (text[i] == "{") - (text[i] == "}")
            i += 1
        found.append((match[1] if match.groups() else "", text[match.end() : i - 1]))
    return found


def parse(header: Path = HEADER) -> Header:
    text = without_comments(header.read_text())
    code = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.MULTILINE | re.DOTALL)
    structs = {name: members(body) for name, body in blocks(code, r"\bstruct\s+(\w+)")}
    constants = re.findall(r"^#define (PLUG_\w+) +\S", text, flags=re.MULTILINE)
    constants = [name for name in constants if name != "PLUG_EXPORT"]
    for _, body in blocks(code, r"\benum"):
        constants += re.findall(r"(\w+) *=", body)
    typedefs = {}
    for statement in re.findall(r"\btypedef ([^;{}]+);", code):
        name = re.search(r"\(\*(\w+)\)", statement) or re.search(r"(\w+)$", statement)
        if f"struct {name[1]}" != one_line(statement).removesuffix(f" {name[1]}"):
            typedefs[name[1]] = one_line(statement)
    functions = [one_line(f) for f in re.findall(r"\bPLUG_EXPORT ([^;{}]+);", code)]
    return Header(structs, typedefs, constants, functions)


def program(path: Path) -> str:
    """A C program that prints the layout."""
    header = parse(path)
    lines = ["#include <stdio.h>", f'#include "{path}"', "int main(void) {"]

    def emit(text: str, *values: str) -> None:
        arguments = "".join(f", (long long)({value})" for value in values)
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  printf("{escaped}\\n"{arguments});')

    for name, declared in header.typedefs.items():
        emit(f"type {name} %lld: {declared}", f"sizeof({name})")
    for name, listed in header.structs.items():
        emit("")
        emit(f"struct {name} %lld", f"sizeof(struct {name})")
        for member in listed:
            place = f"offsetof(struct {name}, {member.path})"
            size = f"sizeof(((struct {name} *)0)->{member.path})"
            emit(f"  {member.path} %lld %lld: {member.declaration}", place, size)
    emit("")
    for name in header.constants:
        emit(f"constant {name} %lld", name)
    emit("")
    for declared in header.functions:
        emit(f"function {declared}")
    return "\n".join([*lines, "  return 0;", "}", ""])


def layout(path: Path = HEADER) -> str:
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory) / "layout.c", Path(directory) / "layout"
        source.write_text(program(path))
        subprocess.run(["cc", "-std=c11", source, "-o", binary], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.stdout.write(layout())
