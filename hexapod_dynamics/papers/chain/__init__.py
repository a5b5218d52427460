"""Serial and branched chains: kinematics, dynamics, derivatives, optimal motions."""
