"""No public name disappears unnoticed: removing one means editing this list and the changelog."""

import ast
import pathlib

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


def test_type_checkers_see_the_same_names():
    """What is imported on first use is written down a second time, for those who read the text."""
    tree = ast.parse(pathlib.Path(anchornet_tf.__file__).read_text())
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {name.asname: node.module for node in block.body for name in node.names}
    assert seen == anchornet_tf._HOMES
