"""From records and the paper's numbers to tables, figures and the report; never imports torch."""
