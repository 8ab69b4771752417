"""What the columns of a sales file mean: which rows are sales, and which columns their amounts.

`deciding` decides by names and figures, `witness` by the file's own arithmetic; `reading` is the
result, with which `orders` reads the rows. Columns of the place and the date: `frames.lookup`.
"""
