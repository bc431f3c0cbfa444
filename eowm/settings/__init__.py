"""What a run is: typed settings, config.yaml, cells and their names. Nothing here imports torch."""
