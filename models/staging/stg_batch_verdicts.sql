-- One row per audited batch: its last verdict, what a person decided since, and whether its trials are published.
{{ published_batches(source('raw', 'batch_verdicts'), source('raw', 'gate_acts')) }}
