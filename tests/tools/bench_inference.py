"""What schema `inference` costs, beside the peers that compute the same from rows.

It takes the recorded archive; without it, the simulated study.
"""

import importlib
import importlib.util
import json
import pkgutil
import shutil
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd

from tests.tools.processes import RECORDED, ROOT, Warehouse
from tests.tools.ratios import Bench

INFERENCE = ("build", "--full-refresh", "--select", "path:models/inference")  # every study, also those that are kept
NO_TESTS = ("--exclude-resource-type", "test", "unit_test")
PATIENCE_S = 120
N_LLMS, TECHNIQUES = 10, ("devils_advocate", "no_technique", "premortem", "sacd")


def main():
    """Run the benchmarks."""
    bench = Bench(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        warehouse = Warehouse(folder / "first")
        warehouse.land(*(["--archive", RECORDED] if RECORDED.is_dir() else ["--max-calls", bench.scaled(100_000)]))
        warehouse.dbt("build", *NO_TESTS)
        rebuild(bench, warehouse)
        grow(bench, warehouse, Warehouse(folder / "grown"))
        build_many(bench, warehouse, Warehouse(folder / "many"))
    beside_scipy(bench, bench.scaled(1_000_000))
    beside_statsmodels(bench, bench.scaled(1_000_000))


def nodes_of(warehouse):
    """Return the models and seeds of a build, by name."""
    nodes = json.loads((warehouse.target / "manifest.json").read_text())["nodes"].values()
    return {node["name"]: node for node in nodes if node["resource_type"] in ("model", "seed")}


def rebuild(bench, warehouse):
    """Time schema `inference` on a built warehouse, and the Python in it."""
    seconds = min(warehouse.dbt(*INFERENCE, *NO_TESTS).seconds for _ in range(bench.scaled(2)))
    by_model, n_trials, _ = python_part(warehouse)
    slowest = ", ".join(f"{name} {took:.1f} s" for name, took in sorted(by_model.items(), key=lambda of: -of[1])[:3])
    bench.record(
        f"dbt build of inference, {n_trials:,} trials", "its Python models alone", seconds / sum(by_model.values()),
        seconds=seconds, details=slowest,
    )  # fmt: skip


def python_part(warehouse, counts=None):
    """Run every Python model of `inference` once; return seconds by model, numbers of trials and of distinct rows."""
    nodes = nodes_of(warehouse)
    relations = {name: f"{warehouse.path.stem}.{node['schema']}.{name}" for name, node in nodes.items()}
    if counts:
        relations["counts"] = f"read_parquet('{counts}')"
    models = {
        name: (node["original_file_path"], node["config"]["meta"])
        for name, node in sorted(nodes.items())
        if node.get("language") == "python"
    }
    return alone(run_models, warehouse.path, models, relations)


def run_models(path, models, relations):
    import analysis

    for module in pkgutil.iter_modules(analysis.__path__, "analysis."):
        importlib.import_module(module.name)
    with duckdb.connect() as connection:  # in which the models find no rows to keep
        connection.execute(f"attach '{path}' as {path.stem} (read_only)")
        ((n_trials, n_distinct),) = connection.sql(
            f"select sum(n_trials)::bigint, count(*) from {relations['counts']}"
            " where row_set = 'as_recorded' and response_source = 'recorded'"
        ).fetchall()
        seconds = {}
        for name, (file, meta) in models.items():
            spec = importlib.util.spec_from_file_location(name, ROOT / file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            dbt = SimpleNamespace(
                ref=lambda name: connection.sql(f"from {relations[name]}"),
                config=Config(meta),
                this=SimpleNamespace(schema="inference", identifier=name),
            )
            started = time.perf_counter()
            module.model(dbt, connection)
            seconds[name] = time.perf_counter() - started
    return seconds, n_trials, n_distinct


class Config(dict):
    """The meta of a Python model, asked for as dbt has it asked for; what a model sets is of no matter here."""

    meta_get = dict.__getitem__

    def __call__(self, **options):
        pass


def grow(bench, warehouse, grown):
    """Draw many trials from those of a warehouse, count them, and compare counting and inference."""
    shutil.copy(warehouse.path, grown.path)
    nodes, counts, n_trials = nodes_of(warehouse), grown.folder / "counts.parquet", bench.scaled(10_000_000)
    compiled = {}
    for node in (nodes["int_responses_sourced"], nodes["counts"]):
        path = warehouse.target / "compiled" / node["package_name"] / node["original_file_path"]
        compiled[f"{node['schema']}.{node['name']}"] = path.read_text()
    took = alone(count_trials, grown.path, compiled, n_trials, counts)
    runs = [(python_part(warehouse), python_part(warehouse, counts)) for _ in range(bench.scaled(2))]
    (few, n_few, rows_few), (many, n_many, rows_many) = (
        min(of_one, key=lambda run: sum(run[0].values())) for of_one in zip(*runs, strict=True)
    )
    slower = max(many, key=lambda name: many[name] - few[name])
    bench.record(
        f"Python models of inference, {n_many:,} trials of {rows_many:,} distinct responses",
        f"{n_few:,} trials of {rows_few:,}", sum(many.values()) / sum(few.values()), "at most 1.2",
        seconds=sum(many.values()),
        details=f"most of the difference is in {slower}, {few[slower]:.1f} to {many[slower]:.1f} s",
    )  # fmt: skip
    bench.record(
        f"GROUP BY key and response, {n_trials:,} trials", "a scan of the same columns",
        took["count"] / took["scan_key"], "at most 2", seconds=took["count"],
        details=f"a scan of the response alone {took['scan_one']:.2f} s, GROUP BY one integer {took['count_id']:.2f} s",
    )  # fmt: skip
    bench.record(
        f"what makes marts.counts, {n_trials:,} trials", "a scan of what it reads",
        took["models"] / took["scan_read"], seconds=took["models"],
    )  # fmt: skip


KEY = "study, domain, vignette, llm, technique, anchor_direction, anchor_value, temperature"
READ_BESIDES = (
    "is_read, status_recorded, status_read, number_recorded, number_read, first_response, valid_min, valid_max,"
    " response_text, is_first_out_of_range, is_quarantined, is_flagged"
)
SCANS = {"DOUBLE": "sum({})", "BOOLEAN": "count_if({})", "VARCHAR": "max({})"}  # none is answered from statistics


def count_trials(path, compiled, n_trials, counts):
    """Draw trials, count them as the models do, and keep the counts; return seconds of the jobs, fastest of three."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("set enable_progress_bar = false; set preserve_insertion_order = false")
        connection.execute(f"""
            create temp table few as
            select *, row_number() over () - 1 as i, dense_rank() over (order by {KEY})::usmallint as key_id
            from (
                select * exclude (source_file, source_line, reason, flag_reasons, protocol)
                from intermediate.int_trials_directed
            )
        """)
        ((n_few,),) = connection.sql("select count(*) from few").fetchall()
        connection.execute(f"""
            drop view intermediate.int_trials_directed;
            create table intermediate.int_trials_directed as
            with drawn as (select range as trial, (hash(range) % {n_few})::bigint as i from range({n_trials}))
            select few.* exclude (i) replace (trial::varchar as trial_id) from drawn inner join few using (i)
        """)
        connection.execute("checkpoint; create view trials as from intermediate.int_trials_directed")
        types = dict(connection.sql("select column_name, column_type from (describe trials)").fetchall())
        seconds = {}
        for name, columns in (("one", "response"), ("key", f"{KEY}, response"), ("read", f"{KEY}, {READ_BESIDES}")):
            scans = (SCANS[types[column]].format(column) for column in columns.split(", "))
            seconds[f"scan_{name}"] = fastest(connection, "main.out", f"select {', '.join(scans)} from trials")
        seconds["count"] = fastest(
            connection, "main.out", f"select {KEY}, response, count(*) as n_trials from trials group by all"
        )
        seconds["count_id"] = fastest(
            connection, "main.out", "select key_id, response, count(*) as n_trials from trials group by all"
        )
        seconds["models"] = sum(fastest(connection, relation, sql) for relation, sql in compiled.items())
        connection.execute(f"copy marts.counts to '{counts}'")
    return seconds


def fastest(connection, relation, sql):
    """Return the seconds of the fastest of three times that a table is made."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        connection.execute(f"create or replace table {relation} as {sql}")
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def build_many(bench, warehouse, many):
    """Repeat the raw trials of a warehouse until there are many, and time `dbt build` of them in little memory."""
    shutil.copy(warehouse.path, many.path)
    n_trials = alone(repeat_raw, many.path, bench.scaled(10_000_000))
    profiles = many.folder / "profiles"
    profiles.mkdir()
    profile = (ROOT / "profiles" / "profiles.yml").read_text()
    profile = profile.replace("settings:\n", "settings:\n        memory_limit: 2500MB\n        threads: 2\n")
    (profiles / "profiles.yml").write_text(profile)
    used = many.dbt("build", "--profiles-dir", profiles, *NO_TESTS, *bench.nodes)
    bench.record(
        f"peak of memory, dbt build of {n_trials:,} trials from raw to claims, 2 threads", "4,096 MB",
        used.megabytes / 4096, "at most 1", seconds=used.seconds,
    )  # fmt: skip


def repeat_raw(path, n_trials):
    """Repeat every raw trial under new ids, with its flags; the line it came as, which no model reads, stays
    away."""
    with duckdb.connect(str(path)) as connection:
        ((recorded,),) = connection.sql("select count(*) from raw.trials").fetchall()
        connection.execute("set enable_progress_bar = false")
        connection.execute("update raw.trials set line = null")
        for table in ("trials", "flagged_trials"):
            connection.execute(f"""
                insert into raw.{table}
                select {table}.* replace (trial_id || '/' || range as trial_id)
                from raw.{table} cross join range(1, {max(2, round(n_trials / recorded))})
            """)
        connection.execute("checkpoint")
        return connection.sql("select count(*) from raw.trials").fetchall()[0][0]


def beside_scipy(bench, n_rows, n_resamples=10_000):
    """Time resamples of the mean percent of baseline of ten LLMs against scipy's on the same trials as rows."""
    ours = alone(bootstrap_counts, n_rows, n_resamples)
    theirs = alone(bootstrap_rows, n_rows, 40)
    bench.record(
        f"stratified bootstrap from counts, {n_rows:,} trials of {N_LLMS} LLMs: speed", "scipy's on rows",
        theirs / ours, "at least 100", seconds=ours * n_resamples,
        details=f"{1e6 * ours:.1f} us a resample, scipy {1e3 * theirs:.1f} ms",
    )  # fmt: skip


def strata(n_rows, seed=1):
    """Percent of baseline of as many trials of each LLM, as sentences in whole months give it."""
    rng = np.random.default_rng(seed)
    for mean in rng.normal(100, 20, N_LLMS):
        yield 100 * np.maximum(np.round(rng.normal(24 * mean / 100, 4, n_rows // N_LLMS)), 1) / 24


def bootstrap_counts(n_rows, n_resamples):
    from analysis.methods.bootstrap import resampled_counts

    cells = [np.unique(values, return_counts=True) for values in strata(n_rows)]
    rng = np.random.default_rng(2)
    started = time.perf_counter()
    means = [resampled_counts(counts, n_resamples, rng) @ values / counts.sum() for values, counts in cells]
    np.quantile(np.mean(means, axis=0)[1:], [0.025, 0.975])
    return (time.perf_counter() - started) / n_resamples


def bootstrap_rows(n_rows, n_resamples):
    from scipy.stats import bootstrap

    rows = list(strata(n_rows))

    def statistic(*samples, axis):
        return np.mean([sample.mean(axis=axis) for sample in samples], axis=0)

    options = {"n_resamples": n_resamples, "batch": 10, "vectorized": True, "method": "percentile", "rng": 2}
    started = time.perf_counter()
    bootstrap(rows, statistic, **options)
    return (time.perf_counter() - started) / n_resamples


def beside_statsmodels(bench, n_rows):
    """Time the mixed models against statsmodels on the same trials as rows."""
    for fit in ("intercept", "slopes"):
        ours, estimates = alone(fit_counts, n_rows, fit)
        if found := alone(fit_rows, n_rows, fit, timeout=PATIENCE_S):
            theirs, expected = found
            apart = max(abs(estimates[name] / expected[name] - 1) for name in expected)
            details = f"statsmodels {theirs:.1f} s; means within {apart:.0e}"
        else:
            theirs, details = PATIENCE_S, f"or more: statsmodels gave no answer in {PATIENCE_S} s"
        bench.record(
            f"mixed model from counts, random {fit}, {n_rows:,} trials: speed", "statsmodels on rows", theirs / ours,
            "at least 50", seconds=ours, details=details,
        )  # fmt: skip


def mixed_rows(n_rows, seed=3):
    """Trials as rows: LLMs differ, techniques differ between them, and answers are whole percents."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows)
    llm, technique, side = codes % N_LLMS, codes // N_LLMS % len(TECHNIQUES), codes // (N_LLMS * len(TECHNIQUES)) % 2
    levels = rng.normal(90, 20, N_LLMS)[:, None] + rng.normal(0, 10, (N_LLMS, len(TECHNIQUES)))
    percent = np.round(levels[llm, technique] + 10 * (side - 0.5) + rng.normal(0, 15, n_rows))
    return llm, technique, side, percent


def fit_counts(n_rows, fit):
    """Return seconds from counts to the REML fit, and its means by technique."""
    from analysis.methods.mixed_effects import Sample, fit_sample

    llm, technique, side, percent = mixed_rows(n_rows)
    counted = pd.DataFrame({"llm": llm, "technique": technique, "side": side, "percent_of_baseline": percent})
    counted = counted.value_counts().rename("n_trials").reset_index()
    counted = counted.assign(
        vignette="vignette",
        llm=counted["llm"].map("llm {}".format),
        technique=counted["technique"].map(dict(enumerate(TECHNIQUES))),
        anchor_direction=counted["side"].map({0: "low", 1: "high"}),
    )
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        fitted = fit_sample(Sample({}, counted, list(TECHNIQUES)), fit, "REML")
        seconds.append(time.perf_counter() - started)
    return min(seconds), dict(zip(TECHNIQUES, fitted.result.coefficients.tolist(), strict=True))


def fit_rows(n_rows, fit):
    """Return seconds of statsmodels' REML fit, and its means by technique."""
    import warnings

    from statsmodels.regression.mixed_linear_model import MixedLM

    llm, technique, _, percent = mixed_rows(n_rows)
    design = np.eye(len(TECHNIQUES))[technique]
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    fitted = MixedLM(percent, design, llm, exog_re=design if fit == "slopes" else None).fit(reml=True)
    return time.perf_counter() - started, dict(zip(TECHNIQUES, fitted.fe_params.tolist(), strict=True))


def alone(job, *arguments, timeout=None):
    """Return what a job returns in a process of its own, or None if that takes longer than `timeout` seconds."""
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(there, job, arguments))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(timeout) else None
    finally:
        process.kill()
        process.join()


def answer(there, job, arguments):
    there.send(job(*arguments))


if __name__ == "__main__":
    main()
