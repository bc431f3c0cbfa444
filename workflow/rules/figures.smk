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


rule table2:
    input:
        notebook="notebooks/table2.ipynb",
        results=rules.results.output.csv,
    output:
        **notebook("table2"),
        tables=expand(OUT / "tables" / "table2.{kind}", kind=["csv", "md", "tex"]),
    log:
        notebook=WORK / "logs" / "table2.ipynb",
        text=WORK / "logs" / "table2.log",
    conda:
        "../../environment.yml"
    params:
        parameters={"preset": PRESET, "out": str(OUT)},
    script:
        "../scripts/run_notebook.py"


rule figure3:
    input:
        notebook="notebooks/figure3.ipynb",
        results=rules.results.output.csv,
    output:
        **notebook("figure3"),
        figures=expand(OUT / "figures" / "figure3.{kind}", kind=["pdf", "png"]),
    log:
        notebook=WORK / "logs" / "figure3.ipynb",
        text=WORK / "logs" / "figure3.log",
    conda:
        "../../environment.yml"
    params:
        parameters={"preset": PRESET, "out": str(OUT)},
    script:
        "../scripts/run_notebook.py"


rule report:
    input:
        rules.table2.output,
        rules.figure3.output,
    output:
        OUT / "report" / "index.html",
    log:
        WORK / "logs" / "report.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m eowm report > {log} 2>&1"
