"""Views stand with what looks through them: a group that hands one to others would copy memory that they could see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchplug.compile._graph import Built

OUTSIDE = -1


def place(built: Built, groups: list[list[int]]) -> list[list[int]]:
    """The groups, with views in the group of their users, or in none: made when somebody needs them."""
    part_of = {part.fx: i for i, part in enumerate(built.parts)}
    group_of = {node: i for i, group in enumerate(groups) for node in group}
    for node in reversed(range(len(built.parts))):
        home = group_of.get(node, OUTSIDE)
        if home == OUTSIDE or not built.parts[node].is_view:
            continue
        users = {_group_of(user, part_of, group_of) for user in built.parts[node].fx.users}
        source = built.parts[node].fx.args[0]
        if home in users or _group_of(source, part_of, group_of) == home:
            continue
        if len(users) == 1 and OUTSIDE not in users:
            group_of[node] = users.pop()
        else:
            del group_of[node]
    return [sorted(n for n in group_of if group_of[n] == i) for i in range(len(groups))]


def _group_of(user: Any, part_of: dict[Any, int], group_of: dict[int, int]) -> int:
    return group_of.get(part_of.get(user, -1), OUTSIDE)
