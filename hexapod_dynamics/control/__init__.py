"""Control that acts on measured state: feed-forward, foot forces, servo set-points, pose guard, low-voltage posture."""
