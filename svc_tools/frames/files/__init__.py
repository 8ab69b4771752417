"""Files with rates and tax for every row: `enrich_file`, larger than memory."""
