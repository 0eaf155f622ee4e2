import pytest

from larder import discounts, invoices, notify, reports, tax
from larder.catalogue import Catalogue, Product
from larder.errors import BadRecord, OutOfStock, UnknownProduct
from larder.money import Money
from larder.orders import Order, OrderLine, fulfil, merge
from larder.shelves import Place, Shelves
from larder.stock import Stock

TEA = Product("tea", "Green tea, 100 g", Money(450), ["hot"])
JAM = Product("jam", "Apricot jam", Money(320))


@pytest.fixture
def catalogue():
    return Catalogue([TEA, JAM])


def order(number=1, customer="Ida", **pieces):
    return Order(number, customer, [OrderLine(code, n) for code, n in pieces.items()])


def test_catalogue(catalogue):
    assert catalogue.codes() == ["jam", "tea"]
    assert catalogue.tagged("hot") == [TEA]
    with pytest.raises(UnknownProduct):
        catalogue.find("salt")


def test_catalogue_from_json():
    loaded = Catalogue.load('[{"code": "tea", "name": "Tea", "price": "4.50"}]')
    assert loaded.find("tea").price == Money(450)
    with pytest.raises(BadRecord, match="row 1: no 'price'"):
        Catalogue.load('[{"code": "tea", "name": "Tea"}]')


def test_stock_is_taken_or_left():
    stock = Stock({"tea": 3})
    stock.take("tea", 2)
    with pytest.raises(OutOfStock, match="tea: 2 wanted, 1 there"):
        stock.take("tea", 2)
    assert stock.there("tea") == 1
    assert stock.there("jam") == 0
    assert stock.low() == [("tea", 1)]


def test_stocks_share_nothing():
    Stock().put("tea", 1)
    assert Stock().there("tea") == 0


def test_an_order_is_fulfilled_whole_or_not_at_all():
    stock = Stock({"tea": 5, "jam": 1})
    with pytest.raises(OutOfStock):
        fulfil(order(tea=2, jam=2), stock)
    assert (stock.there("tea"), stock.there("jam")) == (5, 1)
    fulfil(order(tea=2, jam=1), stock)
    assert (stock.there("tea"), stock.there("jam")) == (3, 0)


def test_price_and_merge(catalogue):
    both = merge(order(tea=1), order(2, tea=1, jam=1))
    assert both.price(catalogue) == Money(1220)
    assert [line.code for line in both.lines] == ["tea", "jam"]
    assert order().is_empty()
    assert not both.is_empty()
    with pytest.raises(ValueError, match="two customers"):
        merge(order(), order(customer="Ann"))


def test_discounts():
    rules = [discounts.Volume(10, 5), discounts.Loyal(["IDA"], 3)]
    assert discounts.best(rules, order(tea=1)) == 3
    assert discounts.best(rules, order(tea=12)) == 5
    assert discounts.best([], order()) == 0
    assert discounts.apply(Money(999), 5) == Money(949)
    with pytest.raises(ValueError, match="between 0 and 100"):
        discounts.apply(Money(1), 101)


def test_tax():
    assert tax.add(Money(1000), "at") == Money(1200)
    assert tax.add(Money(1000), "DE", reduced=True) == Money(1070)
    assert tax.is_known("fr")
    assert not tax.is_known("xx")
    with pytest.raises(ValueError, match="does not sell to XX"):
        tax.rate("XX")


def test_invoice(catalogue):
    invoice = invoices.issue(order(7, tea=2), catalogue, "AT", percent=10)
    assert (invoice.number, invoice.net, invoice.gross) == (
        "2024-00007",
        Money(810),
        Money(972),
    )
    first, customer, *rest = invoices.render(invoice).splitlines()
    assert first.split() == ["Invoice", "2024-00007"]
    assert customer == "Ida"
    assert "  2 x Green tea, 100 g" in rest or "2 x Green tea, 100 g" in rest


def test_figures(catalogue):
    orders = [order(1, tea=1), order(2, "Ann", jam=4), order(3, tea=2)]
    assert reports.turnover(orders, catalogue) == Money(2630)
    assert reports.bestsellers(orders, 1) == [("jam", 4)]
    assert reports.by_customer(orders) == {"Ida": [1, 3], "Ann": [2]}
    assert reports.middle_price(orders, catalogue) == Money(900)
    assert reports.middle_price([], catalogue) == Money(0)
    assert reports.table([("tea", 3)]).splitlines()[1].split() == ["tea", "3"]


def test_shelves():
    shelves = Shelves()
    shelves.assign("B-03-2", "tea")
    shelves.assign("A-01-1", "jam")
    assert shelves.find("tea") == "B-03-2"
    assert shelves.find("salt") is None
    assert shelves.route(["tea", "jam"]) == ["A-01-1", "B-03-2"]
    with pytest.raises(ValueError, match="not a label"):
        Place.read("shelf 3")


def test_outbox_keeps_what_was_refused():
    def sender(message):
        if "jam" in message:
            raise RuntimeError("no line")

    outbox = notify.Outbox(sender)
    notify.low_stock(outbox, [("tea", 1), ("jam", 0), ("salt", 9)])
    notify.low_stock(outbox, [("tea", 1)])
    assert len(outbox.waiting) == 2
    assert outbox.send() == 1
    assert outbox.waiting == ["jam is running low: 0 left"]
    assert notify.Outbox().waiting == []
