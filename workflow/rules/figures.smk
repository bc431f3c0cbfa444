# From records to tables, figures and the report. A notebook shows; what it shows is computed by
# functions of the package, from records only.


rule results:
    input:
        records=wanted_records(),
        failures=failure_notes(),
    output:
        csv=OUT / "results.csv",
    log:
        WORK / "logs" / "results.log",
    benchmark:
        WORK / "benchmarks" / "results.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=drawing_code(),
    shell:
        "python -m eowm collect --out {output.csv} > {log} 2>&1"


# Notebook → the table whose records it draws from (or all, or none), and what it makes.
NOTEBOOKS = {
    "table2": (
        "table2",
        expand("tables/table2.{kind}", kind=["csv", "md", "tex"])
        + ["tables/paired.csv"],
    ),
    "table3": ("table3", expand("tables/table3.{kind}", kind=["csv", "md", "tex"])),
    "figure2": (None, expand("figures/figure2.{kind}", kind=["pdf", "png"])),
    "figure3": ("table2", expand("figures/figure3.{kind}", kind=["pdf", "png"])),
    "forgetting": (
        "table2",
        expand(
            "figures/{name}.{kind}",
            name=["tradeoff"]
            + [f"matrices-{name}" for name in CONFIG.tables["table2"].scenarios],
            kind=["pdf", "png"],
        ),
    ),
    "cost": (
        "table2",
        expand("figures/{name}.{kind}", name=["cost", "scaling"], kind=["pdf", "png"]),
    ),
    "evidence": (
        "all",
        expand(
            "figures/{name}.{kind}", name=["claims", "sensitivity"], kind=["pdf", "png"]
        ),
    ),
    "theorems": (
        None,
        ["tables/theorems.csv"]
        + expand(
            "figures/{name}.{kind}", name=["figure1", "theorem4"], kind=["pdf", "png"]
        ),
    ),
}

for name, (table, products) in NOTEBOOKS.items():

    rule:
        name:
            name
        input:
            notebook=f"notebooks/{name}.ipynb",
            records=drawn_from(wanted_records, table),
            failures=drawn_from(failure_notes, table),
            theorems=OUT / "tables" / "theorems.csv" if name == "evidence" else [],
            beside=records_beside() if name == "evidence" else [],
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
            parameters={"preset": PRESET, "out": str(OUT)},
            code=drawing_code(),
        script:
            "../scripts/run_notebook.py"


rule report:
    input:
        rules.results.output,
        [OUT / "notebooks" / f"{name}.html" for name in NOTEBOOKS],
        records_beside(),
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
        "python -m eowm report > {log} 2>&1"
