"""Dense semantic matching in TensorFlow and Keras: AnchorNet (CVPR 2017).

Names are imported when they are first used, so that `import anchornet_tf` costs next to nothing.
"""

import importlib

__version__ = "0.3.0"

_HOMES = {
    "AnchorBank": "anchornet_tf.layers.anchor_bank",
    "AnchorNet": "anchornet_tf.models.anchornet",
    "Backbone": "anchornet_tf.trunks.backbone",
    "BankFile": "anchornet_tf.models.bank_file",
    "Equalizer": "anchornet_tf.layers.equalizer",
    "FilterDiversity": "anchornet_tf.losses.diversity",
    "PCAProjection": "anchornet_tf.layers.pca_projection",
    "Hypercolumn": "anchornet_tf.layers.hypercolumn",
    "HypercolumnPCA": "anchornet_tf.trunks.pca",
    "DeepDescriptor": "anchornet_tf.features.deep",
    "FeatureMap": "anchornet_tf.features.feature_map",
    "Flow": "anchornet_tf.matchers.flow",
    "ResponseDiversity": "anchornet_tf.losses.diversity",
    "TapExtractor": "anchornet_tf.models.tap_extractor",
    "TiedAutoencoder": "anchornet_tf.layers.tied_autoencoder",
    "load": "anchornet_tf.models.anchornet",
    "Matcher": "anchornet_tf.matchers.matcher",
    "get_descriptor": "anchornet_tf.features.registry",
    "get_matcher": "anchornet_tf.matchers.registry",
    "match_pair": "anchornet_tf.matchers.api",
    "match_many": "anchornet_tf.matchers.api",
    "align": "anchornet_tf.tasks.align",
    "transfer": "anchornet_tf.tasks.transfer",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
