"""Annotations of images: named points, masks and boxes, in the formats of people's own tools."""
