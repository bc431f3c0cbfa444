# From records to tables, figures and the report. `collect` alone opens records; notebooks and the
# report read the table that it writes.


rule collect:
    input:
        records=wanted_records(),
        failures=failure_notes(),
        beside=records_beside(),
    output:
        csv=OUT / "results.csv",
        runs=WORK / "runs.json",
    log:
        WORK / "logs" / "collect.log",
    benchmark:
        WORK / "benchmarks" / "collect.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=drawing_code(),
    shell:
        "python -m eowm collect > {log} 2>&1"


# Notebook → whether it needs the runs, and what it makes.
NOTEBOOKS = {
    "table2": (
        True,
        expand("tables/table2.{kind}", kind=["csv", "md", "tex"])
        + ["tables/paired.csv"],
    ),
    "table3": (True, expand("tables/table3.{kind}", kind=["csv", "md", "tex"])),
    "figure2": (False, expand("figures/figure2.{kind}", kind=["pdf", "png"])),
    "figure3": (True, expand("figures/figure3.{kind}", kind=["pdf", "png"])),
    "forgetting": (
        True,
        expand(
            "figures/{name}.{kind}",
            name=["tradeoff"]
            + [f"matrices-{name}" for name in CONFIG.tables["table2"].scenarios],
            kind=["pdf", "png"],
        ),
    ),
    "cost": (
        True,
        expand("figures/{name}.{kind}", name=["cost", "scaling"], kind=["pdf", "png"]),
    ),
    "claims": (
        True,
        expand("figures/sensitivity.{kind}", kind=["pdf", "png"]),
    ),
    "theorems": (
        False,
        ["tables/theorems.csv"]
        + expand(
            "figures/{name}.{kind}", name=["figure1", "theorem4"], kind=["pdf", "png"]
        ),
    ),
}

for name, (needs_runs, products) in NOTEBOOKS.items():

    rule:
        name:
            name
        input:
            notebook=Path(workflow.basedir) / "notebooks" / f"{name}.ipynb",
            runs=rules.collect.output.runs if needs_runs else [],
            theorems=OUT / "tables" / "theorems.csv" if name == "claims" else [],
        output:
            notebook=OUT / "notebooks" / f"{name}.ipynb",
            html=report(
                OUT / "notebooks" / f"{name}.html",
                caption="../report/notebook.rst",
                category="Notebooks",
                labels={"notebook": name},
            ),
            products=[shown(product) for product in products],
        log:
            notebook=WORK / "logs" / f"{name}.ipynb",
            text=WORK / "logs" / f"{name}.log",
        benchmark:
            WORK / "benchmarks" / f"{name}.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=2000,
            runtime=30,
        params:
            parameters={
                "preset": PRESET,
                "runs": str(WORK / "runs.json") if needs_runs else None,
                "out": str(OUT),
            },
            code=drawing_code(),
        script:
            "../scripts/run_notebook.py"


rule report:
    input:
        [OUT / "notebooks" / f"{name}.html" for name in NOTEBOOKS],
        runs=rules.collect.output.runs,
    output:
        report(
            OUT / "report" / "index.html",
            caption="../report/report.rst",
            category="Report",
        ),
    log:
        WORK / "logs" / "report.log",
    benchmark:
        WORK / "benchmarks" / "report.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=drawing_code(),
    shell:
        "python -m eowm report --runs {input.runs} > {log} 2>&1"
