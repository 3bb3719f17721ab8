"""Messages between two ranks arrive, in order, whatever order they are waited for in."""

import torch
import torch.distributed as dist
from ranks import on_ranks


@on_ranks
def test_a_message_arrives(world):
    if world.rank == 0:
        dist.send(torch.arange(6.0, device=world.device).reshape(2, 3), dst=1)
    elif world.rank == 1:
        x = torch.zeros(2, 3, device=world.device)
        assert dist.recv(x, src=0) == 0
        assert x.cpu().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@on_ranks
def test_messages_of_one_tag_arrive_in_the_order_of_the_calls(world):
    count = 50
    if world.rank == 0:
        for i in range(count):
            dist.send(torch.full((100 + i,), float(i), device=world.device), dst=1)
    elif world.rank == 1:
        got = [torch.zeros(100 + i, device=world.device) for i in range(count)]
        for x in got:
            dist.recv(x, src=0)
        for i, x in enumerate(got):
            assert x.cpu().tolist() == [float(i)] * (100 + i)


@on_ranks
def test_a_message_sent_from_memory_that_is_then_used_for_something_else(world):
    if world.rank == 0:
        works = []
        for i in range(20):
            works.append(dist.isend(torch.full((1000,), float(i), device=world.device), dst=1))
            torch.full((1000,), -1.0, device=world.device)
        for work in works:
            work.wait()
    elif world.rank == 1:
        for i in range(20):
            x = torch.zeros(1000, device=world.device)
            dist.recv(x, src=0)
            assert x.cpu().eq(i).all()


@on_ranks
def test_two_ranks_that_both_send_first(world):
    if world.rank > 1:
        return
    other = 1 - world.rank
    mine = torch.full((100_000,), float(world.rank), device=world.device)
    theirs = torch.zeros_like(mine)
    sent = dist.isend(mine, other)
    received = dist.irecv(theirs, other)
    received.wait()
    sent.wait()
    assert theirs.cpu().eq(other).all()


@on_ranks
def test_messages_of_different_tags_in_any_order(world):
    if world.rank == 0:
        works = [
            dist.isend(torch.full((9,), float(tag), device=world.device), 1, tag=tag)
            for tag in range(5)
        ]
        for work in works:
            work.wait()
    elif world.rank == 1:
        got = {tag: torch.zeros(9, device=world.device) for tag in reversed(range(5))}
        works = {tag: dist.irecv(x, 0, tag=tag) for tag, x in got.items()}
        for tag in (2, 0, 4, 1, 3):
            works[tag].wait()
            assert got[tag].cpu().eq(tag).all()


@on_ranks
def test_an_answer_can_be_sent_while_an_earlier_message_is_awaited(world):
    if world.rank == 1:
        late, early = (torch.zeros(3, device=world.device) for _ in range(2))
        late_work = dist.irecv(late, 0, tag=1)
        early_work = dist.irecv(early, 0, tag=2)
        early_work.wait()
        dist.send(early + 1, 0)
        late_work.wait()
        assert late.cpu().eq(11).all()
    elif world.rank == 0:
        dist.send(torch.full((3,), 5.0, device=world.device), 1, tag=2)
        answer = torch.zeros(3, device=world.device)
        dist.recv(answer, 1)
        dist.send(answer + 5, 1, tag=1)


@on_ranks
def test_a_message_from_any_rank_says_whose_it_is(world):
    if world.rank == 0:
        seen = set()
        for _ in world.others:
            x = torch.zeros(4, device=world.device)
            source = dist.recv(x)
            assert x.cpu().eq(source).all()
            seen.add(source)
        assert seen == set(world.others)
    else:
        dist.send(torch.full((4,), float(world.rank), device=world.device), 0)


@on_ranks
def test_a_batch_of_messages_round_a_ring(world):
    after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    mine = torch.full((5,), float(world.rank), device=world.device)
    theirs = torch.zeros_like(mine)
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, mine, after), dist.P2POp(dist.irecv, theirs, before)]
    )
    for work in works:
        work.wait()
    assert theirs.cpu().eq(before).all()


@on_ranks
def test_messages_into_and_out_of_views(world):
    base = torch.arange(24.0, device=world.device).reshape(4, 6)
    if world.rank == 0:
        dist.send(base[:, 1].contiguous(), 1)
        dist.send(base[2, 3], 1)
        dist.send(base[1:1], 1)
    elif world.rank == 1:
        column = torch.zeros(8, device=world.device)[2:6]
        dist.recv(column, 0)
        assert column.cpu().tolist() == [1.0, 7.0, 13.0, 19.0]
        number = torch.zeros((), device=world.device)
        dist.recv(number, 0)
        assert number.item() == 15
        dist.recv(torch.zeros(0, 6, device=world.device), 0)


@on_ranks
def test_messages_go_on_beside_a_collective(world):
    x = torch.ones(3, device=world.device)
    if world.rank == 1:
        # Rank 0 is in the collective by then, and goes on only when it has been answered.
        dist.recv(x, 0)
        assert x.cpu().eq(7).all()
    work = None
    if world.rank == 0:
        work = dist.all_reduce(torch.ones(5, device=world.device), async_op=True)
        dist.send(torch.full((3,), 7.0, device=world.device), 1)
    if work is None:
        work = dist.all_reduce(torch.ones(5, device=world.device), async_op=True)
    work.wait()
