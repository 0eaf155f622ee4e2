"""Statements that do nothing: what is left of a body whose work was taken out. All texts are without blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

_VALUE = (
    r"(?:None|null|nil|undefined|NULL|nullptr|NaN|[Tt]rue|[Ff]alse|TRUE|FALSE|void0|NotImplemented|Ellipsis|\.\.\."
    r"|self|this"
    r"|[-+]?\d+(?:\.\d+)?[fFlLuU]*|''|\"\"|``|\[\]|\{\}|\(\)|(?:dict|list|set|str|tuple|int)\(\)|vec!\[\]|std::nullopt"
    r"|(?:String|Vec|HashMap|Self)::(?:new|default)\(\)|Default::default\(\)|Optional\.empty\(\)|(?:List|Set"
    r"|Map)\.of\(\)"
    r"|Collections\.empty\w+\(\)|Promise\.resolve\(\)|[&*]?(?:[\w.]+|\[\]\w+)\{\}|(?:\w+\.)?Err[A-Z]\w*|(?:List|Dict"
    r"|Map)<\w*>\(\))"
)
_NOTHING = re.compile(
    rf"(?:pass|;|\{{\}}|continue;?|break;?|:|(?:return|exit)?(?:Ok\(|Some\(|\()?(?:await)?{_VALUE}?"
    rf"(?:(?:as|,){_VALUE}?(?:any|unknown|never)?)*\)?;?)\Z"
)
_STOP = re.compile(
    r"raise(?!_|\w*\()|raise\w*(?:Error|Exception|Exit)\b|throw|panic!?\(|todo!|unimplemented!|unreachable!|fail[(\"']"
    r"|(?:std::)?abort\(|die[(\"']|assert_?False|assert!?\(?false"
)


def squeezed(text: str) -> str:
    """Without blanks."""
    return "".join(text.split())


def nothing(statement: str) -> bool:
    """Whether a statement does nothing, or only gives a constant."""
    return _NOTHING.match(statement) is not None


def stops(statement: str) -> bool:
    """Whether all that it does is to stop with an error."""
    return _STOP.match(statement) is not None


def hollow(statements: Sequence[str]) -> bool:
    """Whether a body does nothing: each of its statements does nothing or stops."""
    return all(nothing(one) or stops(one) for one in statements)
