# From records to tables, figures and the report. A notebook shows; what it shows is computed by
# functions of the package, from records only.


rule results:
    input:
        records=wanted_records(),
    output:
        csv=OUT / "results.csv",
    log:
        WORK / "logs" / "results.log",
    localrule: True
    conda:
        "../../environment.yml"
    shell:
        "python -m eowm collect --out {output.csv} > {log} 2>&1"


# Notebook → what it makes. `theorems` needs no training; the others draw from records.
NOTEBOOKS = {
    "table2": expand("tables/table2.{kind}", kind=["csv", "md", "tex"])
    + ["tables/paired.csv"],
    "table3": expand("tables/table3.{kind}", kind=["csv", "md", "tex"]),
    "figure3": expand("figures/figure3.{kind}", kind=["pdf", "png"]),
    "theorems": ["tables/theorems.csv"]
    + expand(
        "figures/{name}.{kind}", name=["figure1", "theorem4"], kind=["pdf", "png"]
    ),
}

for name, products in NOTEBOOKS.items():

    rule:
        name:
            name
        input:
            notebook=f"notebooks/{name}.ipynb",
            results=[] if name == "theorems" else rules.results.output.csv,
        output:
            notebook=OUT / "notebooks" / f"{name}.ipynb",
            html=OUT / "notebooks" / f"{name}.html",
            products=[OUT / product for product in products],
        log:
            notebook=WORK / "logs" / f"{name}.ipynb",
            text=WORK / "logs" / f"{name}.log",
        conda:
            "../../environment.yml"
        params:
            parameters={"preset": PRESET, "out": str(OUT)},
        script:
            "../scripts/run_notebook.py"


rule report:
    input:
        [OUT / "notebooks" / f"{name}.html" for name in NOTEBOOKS],
    output:
        OUT / "report" / "index.html",
    log:
        WORK / "logs" / "report.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m eowm report > {log} 2>&1"
