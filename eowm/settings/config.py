"""From `config.yaml` to the settings of one run: presets, cells, and clear refusals."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from eowm import paths
from eowm.errors import ConfigError, nearest
from eowm.settings.cells import OTHER, Cell, parse_seeds, select
from eowm.settings.options import Strict, known_methods, options_of, use_file
from eowm.settings.overlay import Overlay, overlay_model
from eowm.settings.run import (
    CORE_VERSION,
    Budget,
    Limits,
    Net,
    Precision,
    RunSettings,
    Training,
)


def _different(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("seeds must be different")
    return seeds


def _listed(seeds: Any) -> Any:
    """`0-4` as a list."""
    return parse_seeds(seeds) if isinstance(seeds, str) else seeds


def _by_cells(seeds: Any) -> Any:
    """A list holds for the whole table."""
    return seeds if isinstance(seeds, Mapping) else {"*": seeds}


Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0)], ...],
    Field(min_length=1),
    BeforeValidator(_listed),
    AfterValidator(_different),
]


# Names become rules, folders and arguments: nothing in them means anything to a shell or a path.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")]


class DataConfig(Strict):
    """Where datasets come from."""

    source: Literal["auto", "local", "official", "registry", "standin"] = Field(
        "auto", description="one source, or auto: all in this order until one serves"
    )


class Cost(Strict):
    """What a run of one method on one dataset was measured to need."""

    images_per_second: float = Field(gt=0, description="training images, one CPU thread")
    mem_mb: int = Field(gt=0, description="peak memory, dataset included")
    gpu: int = Field(1, ge=0, le=1, description="1: on a GPU where there is one; 0: never")
    gpu_speedup: float | None = Field(
        None, gt=0, description="of this method in estimates, if not that of its dataset"
    )


class Jobs(Strict):
    """How runs become jobs of a scheduler: none of it makes a record stale. `precision` is the
    setting of runs that are trained now; a cell accepts either. `threads` change last bits."""

    threads: int = Field(1, gt=0, description="CPU threads of a run")
    precision: Precision = Field(
        "float32", description="of the products of layers in training; tables mark bfloat16"
    )
    seeds_per_job: int = Field(
        1, gt=0, description="seeds of one cell that share a job, one after the other"
    )
    runs_per_gpu: int = Field(1, gt=0, description="runs that may share a GPU")
    max_minutes: int = Field(
        1440, gt=0, description="longest time limit of a job; the next attempt resumes"
    )
    costs: dict[Literal["mnist", "cifar10", "cifar100"], dict[str, Cost]] = Field(
        description="by dataset and method, or `method:variant` where a variant costs more; "
        "`default` for a method that was not measured"
    )
    gpu_speedup: dict[Literal["mnist", "cifar10", "cifar100"], Annotated[float, Field(gt=0)]] = (
        Field(
            {}, description="by dataset: how many CPU cores a GPU is taken for in estimates; else 1"
        )
    )

    def cost(self, dataset: str, method: str, variant: str | None = None) -> Cost:
        measured = self.costs[dataset]  # type: ignore[index]
        return measured.get(f"{method}:{variant}") or measured.get(method) or measured["default"]


class Family(Strict):
    """Scenarios that differ only in their number of tasks."""

    dataset: Literal["mnist", "cifar10", "cifar100"] = Field(description="dataset")
    stream: Literal["shuffled", "disjoint"] = Field(description="how tasks are cut")
    tasks: tuple[int, ...] = Field(description="numbers of tasks that are offered")
    settings: Overlay = Field(description="network and training (the paper's Table 1)")


class Variant(Strict):
    """A reading or regime of a method: what differs from its default."""

    title: str = Field(description="name in tables and figures")
    settings: Overlay = Field({}, description="in every scenario")
    families: dict[str, Overlay] = Field({}, description="in one family")


class MethodConfig(Variant):
    """One method: its title, its settings, its variants."""

    title: str = Field("", description="name in tables and figures; else the method's in capitals")
    file: str | None = Field(
        None, description="where its code is, if not in eowm/methods; relative to the project"
    )

    variants: dict[Name, Variant] = Field({}, description="named variants, `method:variant`")


class Table(Strict):
    """The cells of one table: every scenario × every method."""

    scenarios: tuple[str, ...] = Field(description="columns")
    methods: tuple[str, ...] = Field(description="rows of the paper, `method` or `method:variant`")
    references: tuple[str, ...] = Field((), description="rows that the paper does not have")
    seeds: dict[str, Annotated[dict[str, Seeds], BeforeValidator(_by_cells)]] = Field(
        {},
        description="by preset, where not the preset's own: a list or 0-4; or by scenario/method, "
        "with *, of which the last that matches counts",
    )
    presets: tuple[str, ...] | None = Field(None, description="that run it; null: all of them")


class PresetFamily(Strict):
    limits: Limits = Field(Limits(), description="how runs shrink")
    settings: Overlay = Field({}, description="what else differs")
    methods: dict[str, Overlay] = Field({}, description="what else differs in one method")


class Preset(Strict):
    """A budget, and the cells that are trained with it."""

    description: str = Field(description="one line for the help text")
    budget: Budget = Field(description="`reduced` numbers are never compared with the paper's")
    standin: bool = Field(description="may synthetic data stand in for a missing dataset?")
    seeds: Seeds = Field(description="one run per seed: a list or 0-4")
    cells: str = Field("*", description="selection of the cells that it trains")
    rest: str | None = Field(
        None, description="preset whose published records stand for the cells not trained"
    )
    families: dict[str, PresetFamily] = Field({}, description="limits by family")


class Config(Strict):
    """The whole of `config.yaml`."""

    preset: str = Field("quick", description="smoke, quick, tenth or paper")
    records: str = Field(
        "all",
        description="all: train what is missing of the preset's cells; existing: train nothing; a "
        "selection such as table2/cifar10-5/*: of these cells. Records at hand are always drawn",
    )
    run_seeds: Annotated[str, BeforeValidator(str)] = Field(
        "", description="seeds such as 0-4 of the cells that `records` selects; else the preset's"
    )
    data: DataConfig = Field(DataConfig(), description="where datasets come from")
    families: dict[Name, Family] = Field(description="scenario families")
    methods: dict[Name, MethodConfig] = Field(description="methods and their variants")
    tables: dict[Name, Table] = Field(description="the grid")
    presets: dict[Name, Preset] = Field(description="budgets")
    jobs: Jobs = Field(description="how runs become jobs")

    @model_validator(mode="before")
    @classmethod
    def _find_methods(cls, values: Any) -> Any:
        """First of all: without its options every setting of a method is an unknown key."""
        methods = values.get("methods") if isinstance(values, Mapping) else None
        if not isinstance(methods, Mapping):
            return values
        entries = {name: {} if entry is None else entry for name, entry in methods.items()}
        for name, entry in entries.items():
            if not isinstance(entry, Mapping):
                continue
            entries[name] = {"title": str(name).upper(), **entry}
            if isinstance(file := entry.get("file"), str):
                use_file(str(name), Path(file))
            options_of(str(name))
        return {**values, "methods": entries}

    @model_validator(mode="after")
    def _names_exist(self) -> "Config":
        _known(self.preset, self.presets, "preset")
        for name, preset in self.presets.items():
            for family, shrink in preset.families.items():
                where = f"presets.{name}.families.{family}"
                _known(family, self.families, where)
                for method_name in shrink.methods:
                    _known(method_name, self.methods, f"{where}.methods.{method_name}")
            if preset.rest is not None:
                _known(preset.rest, self.presets, f"presets.{name}.rest")
        for name, table in self.tables.items():
            for preset_name in table.presets or ():
                _known(preset_name, self.presets, f"tables.{name}.presets")
            for preset_name, seeds in table.seeds.items():
                _known(preset_name, self.presets, f"tables.{name}.seeds.{preset_name}")
                for pattern in seeds:
                    select(self, preset_name, f"{name}/{pattern}")
        for name, method in self.methods.items():
            self._check_overlays(name, f"methods.{name}", method)
            for variant_name, variant in method.variants.items():
                self._check_overlays(name, f"methods.{name}.variants.{variant_name}", variant)
        for dataset in {family.dataset for family in self.families.values()}:
            _known(dataset, self.jobs.costs, "dataset in jobs.costs")
            _known("default", self.jobs.costs[dataset], f"method in jobs.costs.{dataset}")
            for row in self.jobs.costs[dataset].keys() - {"default"}:
                name, _, variant_name = row.partition(":")
                where = f"jobs.costs.{dataset}.{row}"
                _known(name, known_methods(), f"{where}: method")
                if variant_name:
                    _known(name, self.methods, f"{where}: method")
                    _known(variant_name, self.methods[name].variants, f"{where}: variant")
        for cell in self.cells():
            for name in self.presets:
                self.resolve(cell, seed=0, preset=name)
        return self

    def _check_overlays(self, method: str, where: str, variant: Variant) -> None:
        """Also of methods and variants that no table shows."""
        _merge(method, [(f"{where}.settings", variant.settings)])
        for family, overlay in variant.families.items():
            _known(family, self.families, f"{where}.families.{family}")
            _merge(method, [(f"{where}.families.{family}", overlay)])

    def cells(self, preset: str | None = None) -> Iterator[Cell]:
        """Every cell of every table (that the preset has), in the paper's order."""
        name = None if preset is None else self.presets[preset].rest or preset
        for table, grid in self.tables.items():
            if name is not None and grid.presets is not None and name not in grid.presets:
                continue
            for row in (*grid.methods, *grid.references):
                for scenario in grid.scenarios:
                    yield self.cell(f"{table}/{scenario}/{row}")

    def cell(self, name: str) -> Cell:
        """Parse `table/scenario/method[:variant]`; a misspelt part is named, with the nearest."""
        parts = name.split("/")
        if len(parts) != 3:
            raise ConfigError(f"'{name}' is not a cell: write table/scenario/method[:variant].")
        table, scenario, row = parts
        method, _, variant = row.partition(":")
        _known(table, [*self.tables, OTHER], "table")
        _known(scenario, self.scenarios(), "scenario")
        _known(method, self.methods, "method")
        if variant:
            _known(variant, self.methods[method].variants, f"variant of {method}")
        return Cell(table, scenario, method, variant or None)

    def seeds(self, cell: Cell, preset: str) -> tuple[int, ...]:
        """Those of the preset, unless the table or the user asks for others."""
        if self.run_seeds and self.trains(cell, preset):
            return parse_seeds(self.run_seeds)
        of_table = self.tables[cell.table].seeds if cell.table in self.tables else {}
        found = self.presets[preset].seeds
        for pattern, seeds in of_table.get(preset, {}).items():
            if cell.matches(f"{cell.table}/{pattern}"):
                found = seeds
        return found

    def trains(self, cell: Cell, preset: str) -> bool:
        """Does `records` ask for runs of this cell?"""
        if self.records == "existing":
            return False
        return cell.is_in(self.presets[preset].cells if self.records == "all" else self.records)

    def presets_beside(self, preset: str) -> list[str]:
        """Presets that alone run some tables; their runs are shown beside the paper's budget.

        Beside a reduced preset there are none: what it shows is its own.
        """
        if self.presets[preset].budget != "paper":
            return []
        own = self.presets[preset].rest or preset
        of_tables = [table.presets or () for table in self.tables.values()]
        return sorted({name for names in of_tables if own not in names for name in names})

    def scenarios(self) -> list[str]:
        return [f"{name}-{n}" for name, family in self.families.items() for n in family.tasks]

    def layers(self, cell: Cell, preset: str) -> list["Layer"]:
        """The sections that decide a cell's settings, with their place; later ones win."""
        name = cell.scenario.rpartition("-")[0]
        method, shrink = self.methods[cell.method], self.presets[preset].families.get(name)
        found: list[Layer] = [
            (f"families.{name}.settings", self.families[name].settings),
            (f"methods.{cell.method}.settings", method.settings),
            (f"methods.{cell.method}.families.{name}", method.families.get(name)),
        ]
        if cell.variant:
            variant, where = method.variants[cell.variant], f"methods.{cell.row}"
            found += [
                (f"{where}.settings", variant.settings),
                (f"{where}.families.{name}", variant.families.get(name)),
            ]
        if shrink:
            where = f"presets.{preset}.families.{name}"
            found += [
                (f"{where}.settings", shrink.settings),
                (f"{where}.methods.{cell.method}", shrink.methods.get(cell.method)),
            ]
        return found

    def places(self, cell: Cell, preset: str) -> dict[str, str]:
        """Setting → the section of config.yaml that its value comes from."""
        return {key: where for where, layer in self.layers(cell, preset) for key in layer or ()}

    def resolve(
        self, cell: Cell, seed: int, preset: str, overrides: Mapping[str, Any] | None = None
    ) -> RunSettings:
        """Overlay by overlay (the order stands at the top of config.yaml) to one run."""
        family_name, _, tasks = cell.scenario.rpartition("-")
        family = self.families[family_name]
        shrink = self.presets[preset].families.get(family_name, PresetFamily())
        given = dict(overrides or {})
        precision = given.pop("precision", "float32")
        layers = [*self.layers(cell, preset), ("--set", given)]
        net, training, options = _merge(cell.method, layers)
        if shrink.limits.epochs and "epochs" not in given:
            training["epochs"] = min(training["epochs"], shrink.limits.epochs)
        try:
            return RunSettings(
                scenario=cell.scenario,
                method=cell.method,
                variant=cell.variant,
                seed=seed,
                dataset=family.dataset,
                stream=family.stream,
                tasks=int(tasks),
                net=net,
                training=training,
                limits=shrink.limits,
                options=options,
                method_version=options_of(cell.method).version,
                precision=precision,
                core_version=CORE_VERSION,
            )
        except ValidationError as error:
            raise ConfigError(f"{cell.name}: {_sentences(error)}") from None


def load_config(
    path: Path | None = None,
    overlay: Mapping[str, Any] | None = None,
    method_file: Path | None = None,
) -> Config:
    """Read and check `config.yaml`; `overlay` replaces top-level keys such as `preset`.

    Inside the workflow's jobs it is the config as Snakemake merged it. `method_file` adds a
    method, named as its file: `my_idea.py` is `my-idea`.
    """
    merged = os.environ.get(paths.MERGED_CONFIG) if path is None else None
    path = path or paths.CONFIG
    values = {**(json.loads(merged) if merged else _read(path)), **(overlay or {})}
    if method_file:
        name, methods = method_file.stem.replace("_", "-"), values.get("methods") or {}
        entry = {**(methods.get(name) or {}), "file": str(method_file.absolute())}
        values["methods"] = {**methods, name: entry}
    return parse_config(values, str(path.name))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        values = yaml.safe_load(path.read_text()) or {}
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing: run this from the project's folder.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(values, Mapping):
        raise ConfigError(f"{path} must hold keys and values, not a {type(values).__name__}.")
    return values


def parse_config(values: Mapping[str, Any], source: str = "config.yaml") -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_sentences(error)}") from None


def parse_overrides(assignments: list[str]) -> dict[str, Any]:
    """`["epochs=3", "alpha.conv=[1, 0.1]"]` to nested values; YAML decides the types."""
    overrides: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text}: write key=value.")
        *parents, last = key.split(".")
        place = overrides
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {text}: {parent} has a value already.")
        place[last] = parse_value(value)
    return overrides


def parse_value(text: str) -> Any:
    """As YAML reads it, except that `1e3` is a number, too."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"'{text}' is not a value: write it as in config.yaml.") from None
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def config_schema() -> str:
    """JSON schema of `config.yaml` with a description per key."""
    schema = Config.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$defs"]["Overlay"] = overlay_model().model_json_schema()
    text = json.dumps(schema, indent=1, sort_keys=True) + "\n"
    return text.replace('"$comment": "Overlay"', '"$ref": "#/$defs/Overlay"')


Layer = tuple[str, Mapping[str, Any] | None]  # where it stands in the config, and its settings


def _merge(method: str, layers: list[Layer]) -> tuple[dict, dict, dict]:
    """Put each flat key into its section; dictionaries such as `alpha` are merged by key."""
    sections: dict[str, dict[str, Any]] = {"net": {}, "training": {}, "options": {}}
    models: dict[str, type[Strict]] = {
        "net": Net,
        "training": Training,
        "options": options_of(method),
    }
    home = {key: name for name, model in models.items() for key in model.model_fields}
    for where, layer in layers:
        for key, value in (layer or {}).items():
            if key not in home:
                place = f"{where} {key}" if where == "--set" else f"{where}.{key}"
                raise ConfigError(f"{place} is not a setting of {method}{nearest(key, home)}.")
            section = sections[home[key]]
            if isinstance(value, dict) and isinstance(section.get(key), dict):
                value = section[key] | value
            section[key] = value
    return sections["net"], sections["training"], sections["options"]


def _known(name: str, names: Any, what: str) -> None:
    if name not in names:
        known = ", ".join(names) or "none"
        raise ConfigError(f"{what} '{name}' is unknown{nearest(name, names)}; known: {known}.")


def _sentences(error: ValidationError) -> str:
    """Pydantic's findings as `key.path: what is wrong`, with the nearest key for a misspelt one."""
    found = []
    for item in error.errors():
        path = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = f"unknown key{nearest(str(item['loc'][-1]), _all_keys())}"
        found.append(f"{path}: {message}" if path else message)
    return "; ".join(found)


def _all_keys() -> set[str]:
    models: tuple[type[Strict], ...] = (
        Config, DataConfig, Family, MethodConfig, Table, Preset, PresetFamily, Limits,
        overlay_model(), Jobs, Cost,
    )  # fmt: skip
    return {key for model in models for key in model.model_fields}
