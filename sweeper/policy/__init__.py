"""The policy: what a captured change may hold. Pure functions of bytes, linear on hostile content.

`sweeper.policy.judge.judge` is its one entry; it is not imported here, so that whoever only names rules and scopes
loads no rule.
"""

from sweeper.policy.paths import CONFIGURED, TEST_CONFIG, Scope
from sweeper.policy.rules import RULES, Level, Rule, Verdict, Violation

__all__ = ["CONFIGURED", "RULES", "TEST_CONFIG", "Level", "Rule", "Scope", "Verdict", "Violation"]
