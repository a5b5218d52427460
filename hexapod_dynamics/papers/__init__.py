"""Serial and branched chains by the formulations of the other four papers, each readable beside its paper."""
