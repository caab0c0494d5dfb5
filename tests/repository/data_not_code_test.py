"""Files from elsewhere are data: nothing in the package can be made to run what is in them."""

import ast

import pytest

from tests.repository.tree import ROOT

_PACKAGES = ("anchornet_tf", "trainers", "export", "tools", "benchmarks")
_UNSAFE_MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
_UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}
# The one place that opens archives, and the one file that is a single array of the cache.
_LOADERS = {
    "anchornet_tf/utils/array_archive.py",
    "anchornet_tf/runner/proposal_store.py",
}


def _modules():
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield pytest.param(path, id=str(path.relative_to(ROOT)))


def _name(call: ast.Call) -> str:
    return ast.unparse(call.func)


@pytest.mark.parametrize("path", _modules())
def test_nothing_is_unpickled_or_evaluated(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not {name.name.split(".")[0] for name in node.names} & _UNSAFE_MODULES
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in _UNSAFE_MODULES
        if not isinstance(node, ast.Call):
            continue
        options = {option.arg: option.value for option in node.keywords}
        assert _name(node) not in _UNSAFE_CALLS
        assert _name(node) not in ("yaml.load", "np.loads")
        if _name(node) == "np.load":
            assert str(path.relative_to(ROOT)) in _LOADERS
            assert ast.unparse(options["allow_pickle"]) == "False"
        if _name(node).endswith(("saving.load_model", "models.load_model")):
            assert "safe_mode" not in options or ast.unparse(options["safe_mode"]) == "True"
        if _name(node).endswith(("extractall", ".extract")):
            raise AssertionError("members of archives are read by name, not unpacked by path")
        if "subprocess" in _name(node) and "shell" in options:
            assert ast.unparse(options["shell"]) == "False"
