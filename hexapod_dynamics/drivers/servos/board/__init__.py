"""The STM32 board of the JetHexa with an Orin, and the servos behind it."""
