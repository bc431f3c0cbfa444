# One training rule per cell of the tables, with the seed as its wildcard, and one target per cell.
#
# `settings` makes a finished cell run again when a setting or the version of its method changes,
# and only then: comments and refactorings in the package are not seen. It is the hash at float32:
# jobs take `jobs.precision` from the config, and a finished cell is kept in either. Checkpoints are no outputs,
# because Snakemake deletes outputs before a rerun; an interrupted run continues from its own.

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
                " {params.runs} --threads {threads} --device {params.device}"
                " > {log} 2>&1"

    rule:
        name:
            cell.rule
        input:
            records_of(cell),
        localrule: True
