"""Plans of gaits for the legs that are left: their definition, evaluation, search and storage."""
