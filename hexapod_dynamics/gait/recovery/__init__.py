"""Getting up after a fall, and bracing against a push."""
