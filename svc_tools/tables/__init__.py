"""Tables that people have, and what their cells say: columns, dates, places, amounts."""
