"""The STM32 board of the JetHexa with an Orin: frames, port, IMU samples (servos: `drivers/servos/board/`)."""
