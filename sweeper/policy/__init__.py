"""The policy: what a captured change may hold. Pure functions of bytes, linear on hostile content."""

from sweeper.policy.judge import judge
from sweeper.policy.paths import TEST_CONFIG, Scope
from sweeper.policy.rules import RULES, Level, Rule, Verdict, Violation

__all__ = ["RULES", "TEST_CONFIG", "Level", "Rule", "Scope", "Verdict", "Violation", "judge"]
