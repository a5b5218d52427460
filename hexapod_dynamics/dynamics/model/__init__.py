"""WholeBodyModel and its parts: what scripts call."""
