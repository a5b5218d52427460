"""One module for each paper: `reproduce(output_folder, progress)` writes its tables, figures (CSV, PNG) and a
page.

progress(fraction, what) is called with the completed fraction of the work, in [0, 1], and a few words.
"""
