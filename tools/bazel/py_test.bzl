"""A py_test that runs its file with pytest."""

load("@rules_python//python:defs.bzl", _py_test = "py_test")

def py_test(name, srcs, data = [], **kwargs):
    """Makes a test of one file.

    Args:
      name: name of the target.
      srcs: the file.
      data: files that the test reads.
      **kwargs: further attributes of `py_test`.
    """
    _py_test(
        name = name,
        srcs = srcs + ["//tools/bazel:pytest_main.py"],
        main = "//tools/bazel:pytest_main.py",
        args = [native.package_name() + "/" + srcs[0]],
        data = data + ["//:pyproject.toml"],
        **kwargs
    )
