"""What a lookup and a tax add to a frame: their columns, what the frame remembers of them."""
