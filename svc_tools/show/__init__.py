"""How things look: texts of codes, tables of text and HTML, progress, templates."""
