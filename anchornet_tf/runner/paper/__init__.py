"""The tables of the AnchorNet paper: what they need is run, and ours stand beside the paper's."""
