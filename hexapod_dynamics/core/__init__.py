"""The compiled core; `_core` is its only module, see core/README.md for how it is built and extended."""
