"""What schedulers need: costs, devices, locks, states. Nothing here changes a number."""
