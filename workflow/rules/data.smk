# Get each dataset once. The prepared tensors live in a cache that presets and checkouts share;
# the output here is the manifest that says which source served this preset.


rule fetch:
    output:
        manifest=WORK / "data" / "{dataset}.json",
    log:
        WORK / "logs" / "fetch_{dataset}.log",
    benchmark:
        WORK / "benchmarks" / "fetch_{dataset}.tsv"
    localrule: True  # computing nodes of a cluster often have no network
    conda:
        "../../environment.yml"
    params:
        standin="--allow-standin" if CONFIG.presets[PRESET].standin else "",
    shell:
        "python -m eowm data fetch {wildcards.dataset} {params.standin}"
        " --manifest {output.manifest} > {log} 2>&1"
