"""Programs that train: thin binaries around `anchornet_tf.training`."""
