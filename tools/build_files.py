"""Writes the BUILD files: one py_library a module, one py_test a test, dependencies from the imports.

python tools/build_files.py            # writes them; run `make build-files` to format them too
"""

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOP_PACKAGES = ("anchornet_tf", "benchmarks", "export", "tests", "tools", "trainers")
_LOAD = 'load("@rules_python//python:defs.bzl", {})\n\n'
_HEADER = "# Written by tools/build_files.py from the imports of the modules.\n"


def folders() -> list[pathlib.Path]:
    """Returns all folders that hold Python modules."""
    found = {path.parent for top in TOP_PACKAGES for path in (ROOT / top).rglob("*.py")}
    return sorted(folder for folder in found if "__pycache__" not in folder.parts)


def label_of(module: pathlib.Path) -> tuple[str, str]:
    """Returns (package, target) of a module's file."""
    package = module.parent.relative_to(ROOT).as_posix()
    target = module.parent.name if module.stem == "__init__" else module.stem
    return package, target


def module_file(name: str) -> pathlib.Path | None:
    """Returns the file of a dotted name of this repository, or None for anything else."""
    if name.split(".")[0] not in TOP_PACKAGES:
        return None
    path = ROOT.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def dependencies(module: pathlib.Path) -> list[str]:
    """Returns the labels of the modules that a module imports, wherever in the file."""
    package, target = label_of(module)
    labels = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if module_file(name) else node.module for name in names]
        else:
            continue
        for found in filter(None, map(module_file, names)):
            other_package, other = label_of(found)
            if (other_package, other) == (package, target):
                continue
            if other_package == package:
                labels.add(f":{other}")
            else:
                short = other_package.rsplit("/", 1)[-1] == other
                labels.add(f"//{other_package}" if short else f"//{other_package}:{other}")
    return sorted(labels, key=lambda label: (not label.startswith(":"), label.replace(":", "!")))


def rule_of(module: pathlib.Path) -> str:
    """Returns the rule of one module."""
    package, target = label_of(module)
    is_test = module.name.endswith("_test.py")
    lines = [f'    name = "{target}",']
    if is_test and "pytest.mark.slow" in module.read_text():
        lines.append('    size = "large",')
    lines.append(f'    srcs = ["{module.name}"],')
    if module.name == "__init__.py":
        data = sorted(
            path.name for kind in ("*.npz", "*.json") for path in module.parent.glob(kind)
        )
        if data:
            lines.append(f"    data = {_list(data)},")
    if package.startswith("tests") and not is_test:
        lines.insert(1, "    testonly = True,")
    labels = dependencies(module)
    if labels:
        lines.append(f"    deps = {_list(labels)},")
    return f"{'py_test' if is_test else 'py_library'}(\n" + "\n".join(lines) + "\n)\n"


def _list(items: list[str]) -> str:
    if len(items) == 1:
        return f'["{items[0]}"]'
    return "[\n" + "".join(f'        "{item}",\n' for item in items) + "    ]"


def build_file(folder: pathlib.Path) -> str:
    """Returns the text of a folder's BUILD file."""
    modules = sorted(folder.glob("*.py"), key=lambda path: label_of(path)[1])
    rules = [rule_of(module) for module in modules]
    kinds = sorted({f'"{rule.split("(")[0]}"' for rule in rules})
    visibility = 'package(default_visibility = ["//visibility:public"])\n\n'
    return _HEADER + _LOAD.format(", ".join(kinds)) + visibility + "\n".join(rules)


def main() -> None:
    for folder in folders():
        (folder / "BUILD").write_text(build_file(folder))


if __name__ == "__main__":
    main()
