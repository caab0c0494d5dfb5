"""Jobs that people want correspondences for."""
