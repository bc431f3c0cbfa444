# One training rule per cell, with the seed as its wildcard, and one target per cell.
#
# A finished run is trained again when its settings or the version of its method change, and only
# then: `settings` is a parameter, the package's code is not. It is the hash at float32: jobs take
# `jobs.precision` from the config, and a finished cell is kept in either. Checkpoints are not
# outputs, because Snakemake deletes outputs before a rerun; a run resumes from its checkpoint.

for cell in CELLS:
    place = paths.cell_path(cell.name)
    for batch in batches(cell):

        rule:
            name:
                train_rule(cell, batch)
            input:
                manifest=manifest_of(cell, batch),
            output:
                [record(cell, seed) for seed in batch],
            log:
                WORK / "logs" / place / f"seed{batch[0]}.log",
            benchmark:
                WORK / "benchmarks" / place / f"seed{batch[0]}.tsv"
            priority: priority_of(cell)
            conda:
                "../../environment.yml"
            threads: CONFIG.jobs.threads
            resources:
                mem_mb=needs_of(cell, batch, "mem_mb"),
                runtime=needs_of(cell, batch, "minutes"),
                gpu=needs_of(cell, batch, "gpu"),
            params:
                cell=cell.name,
                settings=CONFIG.resolve(cell, 0, PRESET).hash(),
                runs=runs_of,
                device=device_of,
            shell:
                "python -m eowm train {params.cell} {params.runs} --threads {threads}"
                " --device {params.device} > {log} 2>&1"

    rule:
        name:
            cell.rule
        input:
            records_of(cell),
        localrule: True
