"""Headers of C with the schemas of PyTorch's operators and the places of their arguments.

schemas.h has what all releases say alike, schemas/torch-2.13.h what one of them says otherwise. A header is
read back for the releases that are not installed, so that each can be made where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

Entries = dict[str, str]  # the operator's name, and its lines in a header

BEGIN = "/* clang-format off */\n"
END = "/* clang-format on */\n"

COMMON = """/* schemas.h - the schemas of PyTorch's operators, and the places of their arguments: for
** every operator that a kernel can be bound to, as PyTorch {releases} have it
** alike. What differs between them is in schemas/torch-*.h. Written by tools/codegen.
**
** aten::add.Tensor is PLUG_SCHEMA_ADD_TENSOR; its argument alpha is at the place
** PLUG_ARG_ADD_TENSOR_ALPHA of call->args, of which there are PLUG_ARGS_ADD_TENSOR.
** Results that have names are at PLUG_RESULT_MAX_DIM_VALUES and so on. A name is
** PyTorch's in capitals, with "_" for ".". */
"""

RELEASE = """/* torch-{release}.h - the schemas of PyTorch {release}: those of schemas.h, and here those that
** {releases} have not alike. Written by tools/codegen from PyTorch {release}.
** A file includes one of these, not two. */
"""


def constant(name: str) -> str:
    """ADD_TENSOR of add.Tensor."""
    return re.sub(r"\W", "_", name).upper()


def lines_of(operator) -> str:
    """What a header has of one operator."""
    key = constant(operator.name)
    facts = []
    if operator.forms:
        facts.append("also " + ", ".join(operator.forms))
    if operator.is_pointwise:
        facts.append("pointwise")
    if operator.backward:
        facts.append("backward " + ", ".join(operator.backward))
    lines = [f"/* {operator.name}{': ' if facts else ''}{'; '.join(facts)} */"]
    lines.append(f'#define PLUG_SCHEMA_{key} "{escaped(operator.schema)}"')
    lines.append(enum(f"PLUG_ARG_{key}_", operator.arguments, f"PLUG_ARGS_{key}"))
    if operator.results:
        lines.append(enum(f"PLUG_RESULT_{key}_", operator.results, f"PLUG_RESULTS_{key}"))
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def enum(prefix: str, names: Iterable[str], count: str) -> str:
    return f"enum {{ {', '.join([*(prefix + constant(name) for name in names), count])} }};"


def entries_in(text: str) -> Entries:
    """The entries of a header."""
    body = text.partition(BEGIN)[2].partition(END)[0]
    blocks = re.findall(r"^/\* .*?(?=^/\* |\Z)", body, re.DOTALL | re.MULTILINE)
    return {re.match(r"/\* ([\w.]+)", block)[1]: block for block in blocks}  # type: ignore[index]


def code(block: str) -> str:
    """An entry without the comment, in which releases may differ: it is the newest's."""
    return block.partition("\n")[2]


def header(guard: str, comment: str, includes: str, entries: Entries) -> str:
    """The text of a header."""
    check_distinct(entries)
    body = "".join(entries[name] for name in sorted(entries))
    return f"{comment}#ifndef {guard}\n#define {guard}\n\n{includes}{BEGIN}{body}{END}\n#endif /* {guard} */\n"


def check_distinct(entries: Entries) -> None:
    """Two operators may not have one constant between them."""
    named = re.findall(r"\bPLUG_\w+(?= \"| }|,)", "".join(entries.values()))
    double = (
        {name for name in named if named.count(name) > 1} if len(set(named)) < len(named) else set()
    )
    if double:
        raise RuntimeError(f"These constants are of two operators: {', '.join(sorted(double))}.")


def in_words(releases: list[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{', '.join(releases[:-1])} and {releases[-1]}"


def read(folder: Path) -> dict[str, Entries]:
    """{release: all its entries}, from the headers in include/torchplug."""
    common = folder / "schemas.h"
    shared = entries_in(common.read_text()) if common.exists() else {}
    files = sorted((folder / "schemas").glob("torch-*.h"), key=_version)
    return {f.stem.removeprefix("torch-"): shared | entries_in(f.read_text()) for f in files}


def texts(by_release: dict[str, Entries]) -> dict[str, str]:
    """{file in include/torchplug: its text}."""
    releases = sorted(by_release, key=lambda release: [int(n) for n in release.split(".")])
    newest = by_release[releases[-1]]
    common = {
        name: block
        for name, block in newest.items()
        if all(code(by_release[release].get(name, "")) == code(block) for release in releases)
    }
    words = in_words(releases)
    made = {"schemas.h": header("TORCHPLUG_SCHEMAS_H", COMMON.format(releases=words), "", common)}
    for release in releases:
        own = {name: block for name, block in by_release[release].items() if name not in common}
        comment = RELEASE.format(release=release, releases=words)
        guard = f"TORCHPLUG_SCHEMAS_TORCH_{release.replace('.', '_')}_H"
        include = '#include "torchplug/schemas.h"\n\n'
        made[f"schemas/torch-{release}.h"] = header(guard, comment, include, own)
    return made


def _version(path: Path) -> list[int]:
    return [int(number) for number in path.stem.removeprefix("torch-").split(".")]
