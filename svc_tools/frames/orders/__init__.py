"""Reading a file of sales: which rows are sales, and which columns their amounts."""
