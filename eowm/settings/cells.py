"""The names of cells: `table2/cifar10-5/owm:matched`, the same wherever a person meets one."""

from dataclasses import dataclass

OTHER = "other"  # in the place of a table: runs that no table shows


@dataclass(frozen=True, order=True)
class Cell:
    """One cell of a table; it has one record per seed."""

    table: str
    scenario: str
    method: str
    variant: str | None = None

    @property
    def row(self) -> str:
        return f"{self.method}:{self.variant}" if self.variant else self.method

    @property
    def name(self) -> str:
        return f"{self.table}/{self.scenario}/{self.row}"

    @property
    def rule(self) -> str:
        """Its target in the DAG: Snakemake allows neither `/` nor `:` in the name of a rule."""
        return self.name.replace("/", "_").replace(":", "_")
