"""Readers of the official files that both the shipped book and the user's imports come from."""
