"""Dense semantic matching in TensorFlow and Keras: AnchorNet (CVPR 2017).

Names are imported when they are first used, so that `import anchornet_tf` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Nothing of this is imported when the package is.
    from anchornet_tf.features.deep import DeepDescriptor as DeepDescriptor
    from anchornet_tf.features.feature_map import FeatureMap as FeatureMap
    from anchornet_tf.features.registry import get_descriptor as get_descriptor
    from anchornet_tf.layers.anchor_bank import AnchorBank as AnchorBank
    from anchornet_tf.layers.equalizer import Equalizer as Equalizer
    from anchornet_tf.layers.hypercolumn import Hypercolumn as Hypercolumn
    from anchornet_tf.layers.pca_projection import PCAProjection as PCAProjection
    from anchornet_tf.layers.tied_autoencoder import TiedAutoencoder as TiedAutoencoder
    from anchornet_tf.losses.diversity import FilterDiversity as FilterDiversity
    from anchornet_tf.losses.diversity import ResponseDiversity as ResponseDiversity
    from anchornet_tf.matchers.api import match_many as match_many
    from anchornet_tf.matchers.api import match_pair as match_pair
    from anchornet_tf.matchers.flow import Flow as Flow
    from anchornet_tf.matchers.matcher import Matcher as Matcher
    from anchornet_tf.matchers.registry import get_matcher as get_matcher
    from anchornet_tf.models.anchornet import AnchorNet as AnchorNet
    from anchornet_tf.models.anchornet import load as load
    from anchornet_tf.models.bank_file import BankFile as BankFile
    from anchornet_tf.models.tap_extractor import TapExtractor as TapExtractor
    from anchornet_tf.tasks.align import align as align
    from anchornet_tf.tasks.transfer import transfer as transfer
    from anchornet_tf.trunks.backbone import Backbone as Backbone
    from anchornet_tf.trunks.pca import HypercolumnPCA as HypercolumnPCA

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


if not TYPE_CHECKING:  # A type checker that saw this would take every misspelt name for one.

    def __getattr__(name: str):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
