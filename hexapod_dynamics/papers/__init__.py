"""Serial and branched chains in the formulations of the other four papers; each module can be read beside its
paper.
"""
