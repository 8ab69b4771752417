"""Sales of a frame or a file as totals by state, day and channel: what exposure is made of."""
