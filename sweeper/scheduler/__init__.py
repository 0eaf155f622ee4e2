"""The scheduler: a pure state machine, one per fire, over several loops. Events in, commands out.

No clock, no IO, no await: `Scheduler.handle(now, event)` is a function of what it was given before, so the
journal of a fire can be replayed.
"""

from sweeper.scheduler.fanout import RETRY_WITHIN
from sweeper.scheduler.machine import IDLE_REST, Scheduler, UnexpectedEvent
from sweeper.scheduler.messages import EngineLimits, Tally, Why

__all__ = ["IDLE_REST", "RETRY_WITHIN", "EngineLimits", "Scheduler", "Tally", "UnexpectedEvent", "Why"]
