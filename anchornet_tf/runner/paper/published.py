"""The figures that the paper prints, restated beside the code."""

import dataclasses
import functools
import json
import pathlib

_FILE = "figures.json"


@dataclasses.dataclass(frozen=True)
class PublishedTable:
    """One table of the paper.

    Attributes:
        number: int.
        title: What is measured.
        data: What it is measured on.
        columns: Names of the columns, without the mean.
        rows: The figures of each row, by the key of its method, one per column.
        means: The mean that the paper prints for each row; empty where it prints none.
    """

    number: int
    title: str
    data: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[float, ...]]
    means: dict[str, float]

    def figure(self, key: str, column: str) -> float:
        """Returns the paper's figure of a row and column."""
        return self.rows[key][self.columns.index(column)]


@functools.cache
def published_tables() -> dict[int, PublishedTable]:
    """Returns the paper's tables by their numbers."""
    contents = json.loads(pathlib.Path(__file__).with_name(_FILE).read_text())
    tables = {}
    for table in contents["tables"]:
        begin = int(table["has_mean"])
        tables[table["number"]] = PublishedTable(
            table["number"],
            table["title"],
            table["data"],
            tuple(table["columns"]),
            {key: tuple(row[begin:]) for key, row in table["rows"].items()},
            {key: row[0] for key, row in table["rows"].items() if begin},
        )
    return tables
