"""The compiled core; `_core` is its only module, built by build_core.py."""
