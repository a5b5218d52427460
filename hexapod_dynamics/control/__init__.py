"""Control that acts on measured state: feed-forward, servo set-points, pose guard, low-voltage posture."""
