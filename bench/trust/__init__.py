"""How often a dishonest change gets through, and an honest one is refused: the corpus, its policy figures, its runs."""

from bench.trust.figures import measure

__all__ = ["measure"]
