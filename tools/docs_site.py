"""Pages of the site that are not files in docs/: the README, the changelog and the API.

MkDocs calls these functions by their names, see mkdocs.yml.
"""

import ast
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
_IN_DOCS = re.compile(r"(?<=\()docs/")
_ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?!https?:|#|[\w-]+\.md|images/)[^)\s]+\)")


def on_files(files, config):
    """Adds the pages."""
    pages = {
        "index.md": _page(ROOT / "README.md"),
        "changelog.md": _page(ROOT / "CHANGELOG.md"),
        "api.md": api_page(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def api_page() -> str:
    """Returns a page that names every public name once, for mkdocstrings to fill in."""
    lines = ["# API", "", "What `import anchornet_tf` offers. Everything else may change."]
    for name, home in sorted(public_names().items(), key=lambda item: item[0].lower()):
        lines += ["", f"::: {home}.{name}"]
    return "\n".join(lines) + "\n"


def public_names() -> dict[str, str]:
    """Returns the module of each public name, read from the text of the package."""
    tree = ast.parse((ROOT / "anchornet_tf" / "__init__.py").read_text())
    (found,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
    )
    return ast.literal_eval(found)


def _page(path: pathlib.Path) -> str:
    """Returns a document of the root as a page in docs/: links to files beside it become words."""
    text = _IN_DOCS.sub("", path.read_text())
    text = text.replace("(CHANGELOG.md)", "(changelog.md)")
    return _ELSEWHERE.sub(r"\1", text)
