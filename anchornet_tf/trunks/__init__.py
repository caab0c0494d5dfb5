"""Pre-trained trunks: the network, where its weights come from, the PCA of its taps."""
