"""One module for each paper: its `reproduce(page, progress)` puts tables and figures on the page with the TITLE.

progress(fraction, what) is called with the completed fraction of the work, in [0, 1], and a few words.
"""
