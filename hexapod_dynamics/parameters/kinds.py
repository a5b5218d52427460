"""Names of choices that the launch file offers, too; it imports no more than these."""

GAITS = ("auto", "tripod", "ripple", "wave", "optimal")
