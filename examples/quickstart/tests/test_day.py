import json

import pytest

from larder import cli, importer
from larder.errors import BadRecord
from larder.stock import Stock

CATALOGUE = json.dumps([{"code": "tea", "name": "Green tea", "price": "4.50"}])
DELIVERIES = "Code,Pieces\ntea,6\n"
ORDERS = "order,customer,code,pieces\n2,Ann,tea,9\n1,Ida,tea,2\n"


def test_a_day(tmp_path, capsys):
    files = []
    for name, text in (("c", CATALOGUE), ("d", DELIVERIES), ("o", ORDERS)):
        files.append(tmp_path / name)
        files[-1].write_text(text, encoding="utf-8")
    assert cli.main([*map(str, files), "AT"]) == 0
    page = capsys.readouterr().out
    assert "Invoice" in page
    assert "turnover 9.00 EUR" in page
    assert "order 2: tea: 9 wanted, 4 there" in page
    assert "tea is running low: 4 left" in page


def test_a_bad_delivery(tmp_path):
    with pytest.raises(BadRecord, match="row 2: pieces is no whole number: 'six'"):
        importer.deliveries("code,pieces\ntea,six\n", Stock())
    with pytest.raises(BadRecord, match="row 2: no column 'pieces'"):
        importer.deliveries("code\ntea\n", Stock())


def test_orders_by_number():
    first, second = importer.orders(ORDERS)
    assert (first.number, first.customer) == (1, "Ida")
    assert second.lines[0].pieces == 9
    with pytest.raises(BadRecord, match="row 2"):
        importer.orders("order,code,pieces\nx,tea,1\n")
