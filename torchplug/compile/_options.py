"""What torch.compile(backend="torchplug", options=...) takes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from typing import Any

OPERATOR_FORM = "aten::add.Tensor"


MOST = 2**31 - 1


@dataclass(frozen=True)
class Options:
    """Options of the backend; what is not among them is the plugin's."""

    min_nodes: int = 1
    """Groups with fewer nodes that compute something run operator by operator."""
    engines: int = 8
    """Of one group, for different shapes; the least recently used go."""
    background: bool = False
    """Run operators one by one until an engine is there."""
    freeze: bool = False
    """Weights are constants of the graph; for calls without gradients."""
    capture: bool = False
    """Replay whole calls by torchplug's Graph."""
    check: bool = False
    """Run the operators beside the engine, and name the first that differs."""
    on_error: str = "raise"
    """What to do when a compile fails: "raise", or "eager" with one warning."""
    eager: tuple[str, ...] = ()
    """Operators that are not compiled, such as aten::mm."""
    cache: bool = True
    """Keep engines on disk, in TORCHPLUG_CACHE_DIR."""
    plugin: dict[str, str] = field(default_factory=dict)
    """For the plugin's compiler, as it documents them: options={"plugin": {"level": "3"}}."""

    @staticmethod
    def of(given: dict[str, Any] | None, mode: str | None = None) -> Options:
        """Checked. Raises a sentence for what is not an option, or not a value of one."""
        if mode is not None:
            given = _options_of_mode(mode)
        known = {option.name: option for option in fields(Options)}
        for name in given or {}:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, 1)
                raise ValueError(
                    f"torch.compile's backend torchplug has no option {name!r}"
                    + (f"; did you mean {near[0]!r}?" if near else f". It has {', '.join(known)}.")
                )
        options = Options(**(given or {}))
        options._check()
        return options

    def _check(self) -> None:
        for name in ("min_nodes", "engines"):
            value = getattr(self, name)
            is_number = isinstance(value, int) and not isinstance(value, bool)
            if not is_number or not 1 <= value <= MOST:
                raise ValueError(f"Option {name!r} is {value!r}. It is a number from 1 to {MOST}.")
        for name in ("background", "freeze", "capture", "check", "cache"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(  # noqa: TRY004  as all others
                    f"Option {name!r} is {getattr(self, name)!r}. It is True or False."
                )
        for other in ("background", "check"):
            if self.capture and getattr(self, other):
                raise ValueError(
                    f"Option 'capture' cannot be used with {other!r}, which needs the engines to be called "
                    "each time. Leave one of them out."
                )
        if self.on_error not in ("raise", "eager"):
            raise ValueError(f"Option 'on_error' is {self.on_error!r}. It is 'raise' or 'eager'.")
        if not _are_strings(self.eager, (list, tuple, set)):
            raise ValueError(
                f"Option 'eager' is {self.eager!r}. It is a list of operators, such as ['aten::mm']."
            )
        for name in self.eager:
            _check_operator(name)
        if not _are_strings(self.plugin, dict) or not _are_strings([*self.plugin.values()], list):
            raise ValueError(
                f"Option 'plugin' is {self.plugin!r}. It is a dict of strings, such as {{'level': '3'}}."
            )
        if nul := [text for text in self.plugin_list() if "\0" in text]:
            raise ValueError(
                f"Option 'plugin' has {nul[0]!r}, in which a NUL stands. Leave it out."
            )

    def plugin_list(self) -> list[str]:
        return [text for pair in sorted(self.plugin.items()) for text in pair]

    def directory(self) -> str:
        """Of engines on disk; "": none are kept."""
        if not self.cache:
            return ""
        from torchplug import _C

        return _C.cache_directory()

    def is_eager(self, name: str) -> bool:
        """Whether an operator, by its name with or without the overload, is not to be compiled."""
        return name in self.eager or name.partition(".")[0] in self.eager


def _options_of_mode(mode: str) -> dict[str, Any]:
    if mode == "reduce-overhead":
        return {"capture": True}
    raise ValueError(
        f"torch.compile's backend torchplug has no mode {mode!r}. What it can be told is in options={{...}}; "
        "mode='reduce-overhead' is options={'capture': True}."
    )


def _are_strings(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and all(isinstance(one, str) for one in value)


def _check_operator(name: str) -> None:
    import torch

    space, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    found = getattr(getattr(torch.ops, space, None), packet, None) if rest else None
    if found is None or (overload and not hasattr(found, overload)):
        raise ValueError(
            f"Option 'eager' names {name!r}, and PyTorch has no such operator. "
            f"Write it as {OPERATOR_FORM!r} or {OPERATOR_FORM.partition('.')[0]!r}."
        )
