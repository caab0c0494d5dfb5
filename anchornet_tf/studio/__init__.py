"""The studio: a page on one's own machine to look at matches and to annotate once."""
