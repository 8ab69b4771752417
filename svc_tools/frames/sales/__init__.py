"""Sales of a frame or a file as totals by state, day and channel, and exposure from them."""
