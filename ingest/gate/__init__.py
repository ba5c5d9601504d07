"""The gate between what was landed and what is anybody's: `audit` gives batches a verdict, `acts` what people say.

`batches` says which are to be audited, `models` what the audit reads of them, `suite` how it is judged (`gate.yaml`).
"""
