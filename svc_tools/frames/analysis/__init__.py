"""What follows a tax: reconciling it, filing it, and reviewing what is uncertain."""
