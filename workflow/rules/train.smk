# One training rule per cell of the tables, with the seed as its wildcard, and one target per cell.
#
# `settings` makes a finished cell run again when a setting or the version of its method changes,
# and only then: comments and refactorings in the package are not seen. Checkpoints are no outputs,
# because Snakemake deletes outputs before a rerun; an interrupted run continues from its own.

MEMORY_MB = {"mnist": 1500, "cifar10": 3000, "cifar100": 6000}

for cell in CELLS:

    rule:
        name:
            f"train_{cell.rule}"
        input:
            manifest=dataset_for(cell),
        output:
            record=record(cell),
        log:
            WORK / "logs" / paths.cell_path(cell.name) / "seed{seed}.log",
        benchmark:
            WORK / "benchmarks" / paths.cell_path(cell.name) / "seed{seed}.tsv"
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=MEMORY_MB[dataset(cell)],
            gpu=1,
        params:
            scenario=cell.scenario,
            row=cell.row,
            table=cell.table,
            settings=CONFIG.resolve(cell, 0, PRESET).hash(),
        shell:
            "python -m eowm train {params.scenario} {params.row} --table {params.table}"
            " --seed {wildcards.seed} --threads {threads}"
            " --out {output.record} > {log} 2>&1"

    rule:
        name:
            cell.rule
        input:
            records_of(cell),
        localrule: True
