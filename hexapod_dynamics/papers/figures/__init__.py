"""One module a paper: `reproduce(output_folder, progress)` writes its tables, figures (CSV, PNG) and a page.

progress(fraction, what) is called with a fraction of the paper's work in [0, 1] and a few words.
"""
