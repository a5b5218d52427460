"""Reads bags for identification and draws its report."""
