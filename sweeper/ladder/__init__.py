"""What follows from outcomes: a unit's class and next rung, a rule's pilot, a fire's end; and what a ladder takes."""
