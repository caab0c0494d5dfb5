"""Corpora: more images than one machine describes in a day. Beam pipelines, an index, a search."""
