"""No public name disappears unnoticed: removing one means editing this list and the changelog."""

import anchornet_tf

PUBLIC_NAMES = {
    "AnchorBank",
    "AnchorNet",
    "Backbone",
    "BankFile",
    "DeepDescriptor",
    "Equalizer",
    "FeatureMap",
    "FilterDiversity",
    "Flow",
    "Hypercolumn",
    "HypercolumnPCA",
    "Matcher",
    "PCAProjection",
    "ResponseDiversity",
    "TapExtractor",
    "TiedAutoencoder",
    "__version__",
    "align",
    "get_descriptor",
    "get_matcher",
    "load",
    "match_many",
    "match_pair",
    "transfer",
}


def test_public_names_are_these():
    assert set(anchornet_tf.__all__) == PUBLIC_NAMES
