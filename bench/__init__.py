"""Measurements, as ratios between things measured side by side in one run. `python -m bench [NAME...]`."""
