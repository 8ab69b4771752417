"""What each row can be used for, and what is at stake."""
