"""Writes the BUILD files: a py_library per module, a py_binary per program, a py_test per test.

    python tools/build_files.py    # `make build-files` formats them too

Dependencies come from the imports, and from modules that are named in strings to be imported when
they are first used. Third-party packages come from the environment.
"""

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOP_PACKAGES = ("anchornet_tf", "benchmarks", "export", "tests", "tools", "trainers")
_HEADER = "# Written by tools/build_files.py from the imports of the modules.\n"
_HOMES = {
    "py_binary": "@rules_python//python:defs.bzl",
    "py_library": "@rules_python//python:defs.bzl",
    "py_test": "//tools/bazel:py_test.bzl",
}
# "package.module", "package.module:Class" or "package.module:Class:argument", and nothing else.
_MODULE_NAME = re.compile(r"([a-z_]\w*(?:\.\w+)+)(?::\w+)*")


def folders() -> list[pathlib.Path]:
    """Returns all folders that hold Python modules, but for the one that Bazel itself needs."""
    found = {path.parent for top in TOP_PACKAGES for path in (ROOT / top).rglob("*.py")}
    found.discard(ROOT / "tools" / "bazel")
    return sorted(folder for folder in found if "__pycache__" not in folder.parts)


def module_file(name: str) -> pathlib.Path | None:
    """Returns the file of a dotted name of this repository, or None for anything else."""
    if name.split(".")[0] not in TOP_PACKAGES:
        return None
    path = ROOT.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imported(module: pathlib.Path) -> set[pathlib.Path]:
    """Returns the files of this repository that a module imports, wherever in its text."""
    names = []
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [name if module_file(name) else node.module for name in found]
    return set(filter(None, map(module_file, names)))


def named(module: pathlib.Path) -> set[pathlib.Path]:
    """Returns the files of this repository that a module names in strings.

    `f"package.{name}"` stands for all modules of the package that other strings name.
    """
    texts = _strings(module)
    matches = filter(None, map(_MODULE_NAME.fullmatch, texts))
    names = [match[1] for match in matches]
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            package = node.values[0].value
            if package.endswith(".") and module_file(package[:-1]):
                names += [package + text for text in texts if text.isidentifier()]
    return set(filter(None, map(module_file, names)))


def is_program(module: pathlib.Path) -> bool:
    """Tells whether a module is meant to be run."""
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        for node in _tree(module).body
    )


def label_of(module: pathlib.Path) -> tuple[str, str]:
    """Returns (package, target) of a module's file."""
    package = module.parent.relative_to(ROOT).as_posix()
    target = module.parent.name if module.stem == "__init__" else module.stem
    return package, target


def dependencies(module: pathlib.Path) -> list[str]:
    """Returns the labels of the modules that a module needs."""
    package, _ = label_of(module)
    files = imported(module) | named(module) | _package_code(module)
    if module.name.endswith("_test.py"):
        folder = module.parent
        files |= {path / "conftest.py" for path in (folder, *folder.parents)}
    labels = []
    for other_package, other in sorted({label_of(path) for path in files if path.is_file()}):
        if (other_package, other) == label_of(module):
            continue
        if other_package == package:
            labels.append(f":{other}")
        else:
            short = other_package.rsplit("/", 1)[-1] == other
            labels.append(f"//{other_package}" if short else f"//{other_package}:{other}")
    return sorted(labels, key=lambda label: (not label.startswith(":"), label.replace(":", "!")))


def data_files(module: pathlib.Path) -> list[str]:
    """Returns the files beside a module that it names: one of them, or a folder without modules."""
    found = []
    for text in _strings(module):
        path = module.parent / text if re.fullmatch(r"\w[\w.-]*", text) else None
        if path is None or path.suffix == ".py" or path.name == "BUILD":
            continue
        if path.is_file():
            found.append(path)
        elif path.is_dir() and not any(path.rglob("*.py")):
            found += [child for child in path.rglob("*") if child.is_file()]
    return sorted({path.relative_to(module.parent).as_posix() for path in found})


def rules_of(module: pathlib.Path) -> str:
    """Returns the rules of one module."""
    package, target = label_of(module)
    is_test = module.name.endswith("_test.py")
    values = {
        "name": target,
        "size": "large" if is_test and "pytest.mark.slow" in module.read_text() else None,
        "testonly": package.startswith("tests") and not is_test,
        "srcs": [module.name],
        "data": data_files(module),
        "deps": dependencies(module),
    }
    rules = _rule("py_test" if is_test else "py_library", values)
    if is_program(module):
        program = {
            "name": f"{package.split('/')[-1] if target == '__main__' else target}_program",
            "testonly": values["testonly"],
            "srcs": [module.name],
            "main": module.name,
            "deps": [f":{target}"],
        }
        rules += "\n" + _rule("py_binary", program)
    return rules


def build_file(folder: pathlib.Path) -> str:
    """Returns the text of a folder's BUILD file."""
    modules = sorted(folder.glob("*.py"), key=lambda path: label_of(path)[1])
    rules = "\n".join(rules_of(module) for module in modules)
    loads = ""
    for home in sorted(set(_HOMES.values()), reverse=True):
        kinds = [kind for kind, where in _HOMES.items() if where == home and f"{kind}(\n" in rules]
        if kinds:
            loads += f'load("{home}", {", ".join(map(_quoted, kinds))})\n'
    return f'{_HEADER}{loads}\npackage(default_visibility = ["//visibility:public"])\n\n{rules}'


def _rule(kind: str, values: dict) -> str:
    lines = []
    for key, value in values.items():
        if isinstance(value, list) and len(value) > 1:
            items = "".join(f"        {_quoted(item)},\n" for item in value)
            lines.append(f"    {key} = [\n{items}    ],\n")
        elif isinstance(value, list) and value:
            lines.append(f"    {key} = [{_quoted(value[0])}],\n")
        elif value:
            lines.append(f"    {key} = {value if value is True else _quoted(value)},\n")
    return f"{kind}(\n{''.join(lines)})\n"


def _package_code(module: pathlib.Path) -> set[pathlib.Path]:
    # `__init__.py` of the programs prepares the process. That of the library has nothing to run,
    # and names modules of later rooms: depending on it would be a cycle.
    init = module.parent / "__init__.py"
    if module.parent.parent != ROOT or module.parent.name == "anchornet_tf" or not init.is_file():
        return set()
    return {init} if len(_tree(init).body) > 1 else set()


@functools.cache
def _tree(module: pathlib.Path) -> ast.Module:
    return ast.parse(module.read_text())


def _strings(module: pathlib.Path) -> list[str]:
    nodes = ast.walk(_tree(module))
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _quoted(text: str) -> str:
    return f'"{text}"'


def main() -> None:
    for folder in folders():
        (folder / "BUILD").write_text(build_file(folder))


if __name__ == "__main__":
    main()
