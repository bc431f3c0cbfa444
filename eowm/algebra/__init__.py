"""P and Q: fast forms, and the textbook forms they are tested against."""
