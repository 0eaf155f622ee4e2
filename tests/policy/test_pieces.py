"""A statement that was read before says in another place what it would say if it were read there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.policy.pieces import Pieces
from sweeper.policy.walk import outline

STATEMENTS = {
    "python": (
        "import os\n",
        "LIMIT: int = 3\n",
        "# said once\n",
        "assert check(1), 'text'\n",
        "if os.name:\n    run('a')\n    x: Any = 1\nelse:\n    raise SystemExit\n",
        "def test_it(a: int) -> None:\n    '''What it does.'''\n    assert a == 1  # right\n    return f(a)\n    g()\n",
        "@wrapped\nclass Thing(Base):\n    size: int = 0\n    def test_that(self):\n        with suppress(Exception):\n"
        "            self.assertEqual(1, 2)\n    class Inner:\n        def run(self):\n            if not self:\n"
        "                return\n            try:\n                f()\n            except Exception:\n"
        "                pass\n",
        "class Thing(Base):\n    def test_that(self):\n        with suppress(Exception):\n"
        "            self.assertEqual(1, 2)\n",
        "def broken(:\n",
        "class Thing(Base):\n    for a in b:\n        if a:\n            break\n",
        "class Thing(Base):\n    for a in b:\n        break\n",
    ),
    "javascript": (
        "const f = (a) => { if (!a) return; g(a) }\n",
        "export { f }\n",
        "module.exports = { Thing }\n",
        "// said once\n",
        "it('works', () => { expect(f(1)).toBe(2) })\n",
        "class Thing { run() { try { g() } catch (e) {} } static x = 1 }\n",
        "function f() { return `a ${g()} b` }\n",
        "class Thing { x = g(() => { for (const a of b) { if (a) { break; } } }) }\n",
        "class Thing { x = g(() => { for (const a of b) { break; } }) }\n",
    ),
    "go": (
        "package a\n",
        "func (s *Set) Add(a int) { if a == 0 { return }; s.m[a] = true }\n",
        "func TestAdd(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
        "var Limit, other = 3, x.(int)\n",
        "type Set struct { m map[int]bool }\n",
    ),
    "java": (
        "class A { private int x; @Test public void adds() { assertEquals(1, f()); } int f() { return (int) 1L; } }\n",
        "class A { private int x; public void adds() { assertEquals(1, f()); } }\n",
        "interface B { Object get(); /* said once */ }\n",
        "class A { static { for (;;) { if (f()) { break; } } } }\n",
        "class A { static { for (;;) { break; } } }\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", STATEMENTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_an_outline_is_the_same_with_what_was_read_before(language: str, data: st.DataObject) -> None:
    some = st.lists(st.sampled_from(STATEMENTS[language]), max_size=8)
    pieces: Pieces = {}
    for _ in range(2):
        text = "".join(data.draw(some)).encode()
        test_file = data.draw(st.booleans())
        assert outline(language, text, test_file, pieces) == outline(language, text, test_file)
