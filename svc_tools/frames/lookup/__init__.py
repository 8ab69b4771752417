"""From the rows of a sales file to queries and sums, and back."""
