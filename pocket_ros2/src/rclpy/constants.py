"""Numbers used all over rclpy."""

S_TO_NS = 1000 * 1000 * 1000
