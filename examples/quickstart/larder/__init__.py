"""Stock, orders and invoices of a small shop."""

from larder.catalogue import Catalogue, Product
from larder.errors import LarderError, OutOfStock, UnknownProduct
from larder.orders import Order, OrderLine
from larder.stock import Stock

__all__ = [
    "Catalogue",
    "LarderError",
    "Order",
    "OrderLine",
    "OutOfStock",
    "Product",
    "Stock",
    "UnknownProduct",
]
