"""The ledger of claims: what may be said of a published number (`checks`), and how it is derived (`derivations`)."""
