"""The list of all parameters of the nodes: each is defined here, once.

The nodes declare their parameters from this list, and `python -m hexapod_dynamics.tools.parameter_files` writes
config/nodes.yaml and docs/parameters.md from it. There is one module for each node, so that a node loads only its
own parameters; `spec` and `commands` have those of several nodes; `catalogue` has all.
"""
