"""Training of the damage detector: walks of random robots, gradients, the command `train_detector`."""
