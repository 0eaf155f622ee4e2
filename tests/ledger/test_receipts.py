"""What attempts have spent, whoever dies over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.ledger.sql import SqlLedger
from sweeper.receipts import Receipt, receipt_of, spent
from sweeper.records import Usage
from tests.ledger.builders import RUN, all_of, claimed, key, land_fixed, queued


def test_the_last_word_on_each_call_counts(tmp_path: Path) -> None:
    for index in (0, 1):
        receipt = Receipt(receipt_of(tmp_path, "u", 1, index))
        receipt.write(1, Usage(100, 100, 900))
        receipt.write(2, Usage(50, 50, 400))
        receipt.write(1, Usage(10, 20, 30))
        receipt.close()
    assert spent(tmp_path, "u", 1) == Usage(120, 140, 860)
    assert spent(tmp_path, "u", 11) == spent(tmp_path, "v", 1) == Usage()


def test_a_line_that_was_cut_is_nothing(tmp_path: Path) -> None:
    path = receipt_of(tmp_path, "u", 1, 0)
    receipt = Receipt(path)
    receipt.write(1, Usage(1, 2, 300))
    receipt.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b"1 1 2 3")
    assert spent(tmp_path, "u", 1) == Usage(1, 2, 300)


@pytest.mark.anyio
async def test_unfinished_attempts_carry_what_they_spent(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    await land_fixed(ledger, key(2))
    claim = await claimed(ledger, key(1))
    row = await ledger.start(claim, 0, 1)
    before = await ledger.spent(0.0)
    assert [each.unit for each in await ledger.unfinished()] == [key(1)]
    await ledger.spend(row, Usage(1, 2, 3000))
    assert await ledger.spent(0.0) == before + 3000
    await ledger.release(claim)
    adopted = await ledger.start(await claimed(ledger, key(1)), 0, 1)
    assert (adopted.adopted, adopted.usage) == (True, Usage(1, 2, 3000))
    [landed] = await all_of(ledger.attempts(unit=key(2)))
    await ledger.spend(landed, Usage(9, 9, 9))
    assert await ledger.spent(0.0) == before + 3000, "what has ended has its last word already"
