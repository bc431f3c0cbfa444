# One training rule per cell of the tables, with the seed as its wildcard, and one target per cell.
#
# `settings` makes a finished cell run again when a setting or the version of its method changes,
# and only then: comments and refactorings in the package are not seen. Checkpoints are no outputs,
# because Snakemake deletes outputs before a rerun; an interrupted run continues from its own.


def batches(cell) -> list[tuple]:
    """Seeds that share a job: any one seed, unless the config asks for several together."""
    together = CONFIG.jobs.seeds_per_job > 1
    return jobs.batches(CONFIG, cell, PRESET) if together else [("{seed}",)]


def train_rule(cell, batch) -> str:
    """`train_table2_cifar10-5_owm`, with the first seed where a cell has several jobs."""
    several = len(batches(cell)) > 1
    return f"train_{cell.rule}" + (f"_from{batch[0]}" if several else "")


def manifest_of(cell, batch):
    """The dataset a run needs first, as an input function.

    It is `ancient`: fetching again retrains nothing. A record that came with the repository needs
    no dataset: without one, Snakemake would fetch it and train again.
    """

    path = WORK / "data" / f"{CONFIG.resolve(cell, 0, PRESET).dataset}.json"

    def manifest(wildcards):
        made = [record(cell, seed).format(**wildcards) for seed in batch]
        came_with_the_clone = not path.exists() and all(
            Path(file).exists() for file in made
        )
        return [] if came_with_the_clone else ancient(str(path))

    return manifest


def needs_of(cell, batch, what):
    """A resource from the measured costs; a further attempt gets more."""

    def amount(wildcards, attempt):
        return getattr(jobs.needs(CONFIG, cell, PRESET, len(batch), attempt), what)

    return amount


def runs_of(wildcards, output):
    """Not a cause to train again: how seeds are put into jobs changes no number."""
    names = ((Path(file).stem.removeprefix("seed"), file) for file in output)
    return " ".join(f"--seed {seed} --out {file}" for seed, file in names)


def device_of(wildcards, resources):
    return "auto" if resources.gpu else "cpu"


for cell in CELLS:
    for batch in batches(cell):

        rule:
            name:
                train_rule(cell, batch)
            input:
                manifest=manifest_of(cell, batch),
            output:
                [record(cell, seed) for seed in batch],
            log:
                WORK / "logs" / paths.cell_path(cell.name) / f"seed{batch[0]}.log",
            benchmark:
                WORK / "benchmarks" / paths.cell_path(cell.name) / f"seed{batch[0]}.tsv"
            conda:
                "../../environment.yml"
            threads: CONFIG.jobs.threads
            resources:
                mem_mb=needs_of(cell, batch, "mem_mb"),
                runtime=needs_of(cell, batch, "minutes"),
                gpu=needs_of(cell, batch, "gpu"),
            params:
                scenario=cell.scenario,
                row=cell.row,
                table=cell.table,
                settings=CONFIG.resolve(cell, 0, PRESET).hash(),
                runs=runs_of,
                device=device_of,
            shell:
                "python -m eowm train {params.scenario} {params.row} --table {params.table}"
                " {params.runs} --threads {threads} --device {params.device} > {log} 2>&1"

    rule:
        name:
            cell.rule
        input:
            records_of(cell),
        localrule: True
