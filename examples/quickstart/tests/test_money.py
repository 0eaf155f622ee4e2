import pytest

from larder.money import Money, parse, total


@pytest.mark.parametrize(
    ("text", "cents"), [("12", 1200), ("12.5", 1250), ("12,50", 1250), ("-0.05", -5)]
)
def test_parse(text, cents):
    assert parse(text).cents == cents


@pytest.mark.parametrize("text", ["", "12.345", "twelve", "1 2"])
def test_parse_refuses(text):
    with pytest.raises(ValueError, match="not an amount"):
        parse(text)


def test_total_and_text():
    assert str(total([Money(199), Money(1)])) == "2.00 EUR"
    assert total([]) == Money(0)


def test_currencies_do_not_mix():
    with pytest.raises(ValueError, match="cannot add USD to EUR"):
        Money(1) + Money(1, "USD")
