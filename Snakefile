# The replication as a DAG: datasets → one training rule per table cell → tables, figures, report.
#
#   snakemake                                  the cells of the preset of config.yaml, all drawings
#   snakemake --config preset=paper            the paper's budgets
#   snakemake table2_cifar10-5_owm             one cell by name (all its seeds)
#   snakemake figures --config records=existing   draw from the records at hand, train nothing
#   snakemake --report report.zip              Snakemake's own report, which needs no network
#
# `snakemake --list-target-rules` lists every cell. The Makefile has the same as one-word commands.

from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train_functions.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/figures.smk"


localrules:
    all,
    figures,


rule all:
    default_target: True
    input:
        wanted_records(),
        rules.report.output,


rule figures:
    input:
        rules.report.output,
