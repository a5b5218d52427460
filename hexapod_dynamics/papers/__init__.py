"""Serial and branched chains in the formulations of the other four papers; each module can be read beside its
paper. The optimal gait, which plans its swings with them, is loaded only where it is chosen.
"""
