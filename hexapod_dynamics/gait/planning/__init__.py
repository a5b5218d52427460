"""Plans of gaits for the legs that are left: what a plan is, how it is judged, searched for and kept."""
