"""Tables that people have, and what their cells say.

Files in chunks (`tabular`, `csv_files`, `xlsx_files`), which column is what (`roles`, `countries`,
`questions`), the exports of shops (`exports`), and cells: dates, places, states, statuses.
"""
