"""Matchers: each turns a pair of feature maps into a flow. See `registry.get_matcher`."""
