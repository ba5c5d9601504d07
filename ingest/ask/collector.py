"""Ask: put trials to their LLMs, phase after phase; an answer is in the spool before the next turn is sent."""

import asyncio
import collections
import contextlib
import functools
import itertools
import json
import random
import signal
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ingest.ask.context import BEYOND_CONTEXT, is_beyond_context
from ingest.ask.families import stated_families
from ingest.ask.refusals import refuse_changed_items, refuse_key_in_study, refuse_without_prices
from ingest.ask.responses import Offence, baseline_offences, cell_summaries, distinct_answers, ended_trials, last_call
from ingest.ask.spool import COLLECTED, Spool, spool_folder
from ingest.land.commits import git
from ingest.land.seeds import seed_rows
from ingest.paradigms.judges import JUDGEMENTS
from ingest.paradigms.paradigm import NO_TECHNIQUE
from ingest.prompts import text_hash
from ingest.providers import NoReply, Question
from ingest.studies.design import Design, anchors_in, values_of
from ingest.texts.redaction import Redaction, as_text
from ingest.warehouse import IS_CHECKOUT, ROOT, UserError

GIVE_UP_AFTER = 10  # trials of one LLM that failed in a row, with no answer in between
SLOWEST_BACKOFF_S = 60
AT_A_TIME = {"codex": 4, "local": 1}  # each call is a program of its own; one LLM is on this machine once
MEND = "`bais reread TRIAL --number N --why …` puts one right, `bais withdraw TRIAL --why …` takes one out"
# Why the answers of a baseline are in doubt, and what to do, by what the gate calls it.
WHAT_IS_IN_DOUBT = {
    "unclear_dot": (
        "have a dot that may group thousands or not, such as \u201c{text}\u201d, and no other answer tells which",
        f"{MEND}; once one is reread, the others are read as that one is",
    ),
    "factor_1000": (
        "are about a thousand times too large or too small, such as \u201c{text}\u201d where {usual} is usual",
        MEND,
    ),
    "out_of_range": (
        "are outside of the range that the vignette allows, such as \u201c{text}\u201d",
        f"{MEND}, or give another range",
    ),
    "unparsed": ("hold no number that can be read, such as \u201c{text}\u201d", MEND),
    "refused": (
        "are refusals",
        "ask more often (`minimum` of the study's stopping_rule), or leave the LLM out of the study",
    ),
}
MOST_NAMED, MOST_QUOTED = 3, 60
MOST_CHARACTERS = 500_000  # of an answer; more than any LLM gives, and DuckDB reads lines of up to 16 MiB


@dataclass
class Outcome:
    """What became of a session.

    Attributes
    ----------
    n_planned, n_before, n_done, n_calls : int
        Trials of the design, those complete before, those completed now; calls made now, failed ones too.
    judgements : collections.Counter
        Of these trials the judgements: how many `n_planned`, `n_before` and `n_done`.
    statuses : collections.Counter
        What the trials completed now came to, as the collector knows it (`replied` where a text is there to be read).
    cost_usd, n_unpriced : float, int
        What the calls made now cost, and how many of them without a known price.
    stopped_llms, silent_llms : dict of str to str
        LLMs that are asked no more, and others that could not be asked or never answered when last they were, and why.
    n_beyond_context : collections.Counter
        Of these, by LLM, those that were not asked since the question is too long for it.
    no_anchors, doubts : list of str
        LLM and vignette pairs whose anchors could not be derived, and sentences on those that are not derived yet,
        since their baseline is in doubt.
    ended_by : str or None
        `interrupted`, or the limit that ended the session early.
    seconds : float
    torn, junk : Path or None, list of int
        What was put aside or passed over when the spool was opened.
    """

    n_planned: int = 0
    n_before: int = 0
    n_done: int = 0
    n_calls: int = 0
    n_replies: int = 0
    judgements: collections.Counter = field(default_factory=collections.Counter)
    statuses: collections.Counter = field(default_factory=collections.Counter)
    n_beyond_context: collections.Counter = field(default_factory=collections.Counter)
    cost_usd: float = 0.0
    n_unpriced: int = 0
    stopped_llms: dict = field(default_factory=dict)
    silent_llms: dict = field(default_factory=dict)
    no_anchors: list = field(default_factory=list)
    doubts: list = field(default_factory=list)
    ended_by: str | None = None
    seconds: float = 0.0
    torn: object = None
    junk: list = field(default_factory=list)

    @property
    def exit_code(self):
        """0, 4 if an LLM could not be asked, or not all that was planned, 130 if interrupted."""
        if self.ended_by == "interrupted":
            return 130
        is_silent = self.stopped_llms or self.silent_llms or (self.n_calls and not self.n_replies)
        return 4 if is_silent or self.doubts else 0

    @property
    def n_left(self):
        """Return how many planned trials are not complete."""
        return self.n_planned - self.n_before - self.n_done


class Pace:
    """How many calls an endpoint gets at a time: fewer when it has too much to do, slowly more again when it answers.

    Parameters
    ----------
    most : int
    """

    def __init__(self, most):
        self.most, self.limit = most, float(most)
        self.in_flight, self.waiting = 0, collections.deque()
        self.rests_until = self.fell_at = 0.0
        self.ended = asyncio.Event()

    async def enter(self):
        """Wait for a place; after the end everyone gets one, and finds out that there is nothing to do."""
        while not self.ended.is_set():
            if self.in_flight >= int(self.limit):
                place = asyncio.get_running_loop().create_future()
                self.waiting.append(place)
                await place
            elif (rest := self.rests_until - time.monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.ended.wait(), rest)
            else:
                break
        self.in_flight += 1

    def leave(self, started: float, throttled: bool = False, rest_s: float | None = None) -> None:
        """Give the place back, and say when the call began (`time.monotonic`), how it went, and how long to rest."""
        self.in_flight -= 1
        if throttled:
            if started >= self.fell_at:
                self.limit, self.fell_at = max(1.0, self.limit / 2), time.monotonic()
        else:
            self.limit = min(self.most, self.limit + 1 / self.limit)
        if rest_s:
            self.rests_until = max(self.rests_until, time.monotonic() + rest_s)
        self._wake(int(self.limit) - self.in_flight)

    def open(self):
        """Give as many places as there are."""
        self.limit = float(self.most)
        self._wake(self.most - self.in_flight)

    def end(self):
        """Let nobody wait any longer."""
        self.ended.set()
        self._wake(len(self.waiting))

    def _wake(self, n):
        while self.waiting and n > 0:
            place = self.waiting.popleft()
            if not place.done():
                place.set_result(None)
                n -= 1


class Collector:
    """One session over a study.

    Parameters
    ----------
    design : ingest.studies.design.Design
    max_cost_usd, max_calls : float, int, optional
        Of this session; the study's own limits if not given.
    judge : object, optional
        With `error(trial, turn, text)`, a code that says why a text will not do, or None (what will not do is asked
        again, up to the study's attempts, and kept), and `response(trial, replies)`, the number in texts that do.
    on_progress : callable, optional
        Called with the collector after each trial.
    on_trial : callable, optional
        Called with the trial, its record and its calls when it is complete.
    orphaned : list of pairs, optional
        The hashes of words that were asked before and of those in their place, as somebody has agreed.
    kept : list of pairs, optional
        Of these and of all else that the study asks no more, what still counts, as somebody has said.
    new_anchors : bool, optional
        Whether anchors are derived anew where the baseline, as people have mended it since, gives others.
    path : Path, optional
        The spool file of what is asked on trial, which is no part of the study: no family of decisions is frozen then.
    """

    def __init__(
        self, design, *, max_cost_usd=None, max_calls=None, judge=None, on_progress=None, on_trial=None, orphaned=(),
        kept=None, new_anchors=False, path=None,
    ):  # fmt: skip
        self.design, self.study = design, design.study
        limits = self.study.limits
        self.limits = limits
        self.max_cost_usd = limits.max_cost_usd if max_cost_usd is None else max_cost_usd
        self.max_calls = limits.max_calls if max_calls is None else max_calls
        self.judge, self.on_progress, self.on_trial = judge, on_progress or (lambda collector: None), on_trial
        self.orphaned, self.kept, self.new_anchors = orphaned, kept, new_anchors
        self.llms = {llm.llm: llm for llm in self.study.all_llms}
        self.prices = read_prices()
        self.providers, self.paces, self.lacking, self.llms_at = {}, {}, {}, collections.defaultdict(set)
        self.outcome, self.session = Outcome(), uuid.uuid4().hex[:16]
        self.phase = ""
        self.failed_in_a_row = collections.Counter()
        self.costs = collections.defaultdict(lambda: [0.0, 0])
        self.stopping = self.error = None
        self.tasks, self.scripts, self.anchors = [], {}, {}
        self.started = time.monotonic()
        self.is_on_trial = path is not None
        self.path = path or spool_folder(self.study.study) / (f"{design.run}.jsonl" if design.run else COLLECTED)

    def collect(self, ask_again: Collection[str] = ()) -> Outcome:
        """Collect what is missing, and a new replicate of each trial that ended in one of the statuses `ask_again`."""
        self._set_up()
        try:
            with Spool(self.path) as self.spool:
                self.state = self.spool.state
                self.design.recognise(self.state)
                self.n_closed = len(self.state.closed)
                refuse_changed_items(self.design, self.state, self.path)
                self.outcome.torn, self.outcome.junk = self.state.torn, self.state.junk
                asyncio.run(self._collect(ask_again))
                if not self.error:
                    self._name_silent_llms()
        finally:
            self.outcome.seconds = time.monotonic() - self.started
        if self.error:
            raise self.error
        return self.outcome

    def _set_up(self):
        """Make the provider of each LLM; where none can be made, for want of a key, nothing is asked."""
        for llm in self.llms.values():
            key, make = provider_of(llm, self.design)
            self.llms_at[key].add(llm.llm)
            if key not in self.providers and key not in self.lacking:
                try:
                    self.providers[key] = make()
                except UserError as error:
                    self.lacking[key] = error
                    continue
                self.paces[key] = Pace(most_at_a_time(llm, self.study))
        if not self.providers:
            raise next(iter(self.lacking.values()))
        self.redaction = Redaction(provider.secret for provider in self.providers.values())
        refuse_key_in_study(self.study, self.redaction)
        refuse_without_prices(self.study, self.prices, self.max_cost_usd)
        if self.max_cost_usd is not None:
            for pace in self.paces.values():
                pace.limit = 1.0  # until the first answer says what one costs

    async def _collect(self, ask_again):
        loop = asyncio.get_running_loop()
        self.stop_event = asyncio.Event()
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # only the main thread gets signals
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
            loop.add_signal_handler(signal.SIGTERM, self._interrupt)
        try:
            self._write_session()
            self._restate_items()
            await self._phases(ask_again)
        finally:
            for provider in self.providers.values():
                await provider.close()

    def _interrupt(self):
        """Finish what is in flight on the first Ctrl-C, leave at once on the second."""
        if self.stopping:
            for task in self.tasks:
                task.cancel()
        self._stop("interrupted")
        self.phase = "finishing what is in flight (Ctrl-C again leaves at once)"
        self.on_progress(self)

    def _stop(self, why):
        self.stopping = self.stopping or why
        self.outcome.ended_by = self.stopping
        self.stop_event.set()
        for pace in self.paces.values():
            pace.end()

    def _write_session(self):
        from importlib.metadata import version

        self.spool.write(
            {
                "kind": "session",
                "session": self.session,
                "started_at": _now(),
                "software_version": version("bais"),
                "git_revision": git_revision(),
                "study": self.study.model_dump(mode="json", exclude_none=True),
                **self.design.stated(),
                **({} if self.is_on_trial else stated_families(self.study, self.path, self.state)),
                **({"orphaned": self.orphaned} if self.orphaned else {}),
                **({"kept": self.kept} if self.kept is not None else {}),
            }
        )

    def _restate_items(self):
        """Write down what items that were asked say otherwise now, where that is no part of what was asked."""
        for item in self.design.items.values():
            stated = self.state.items.get(item.item)
            if stated and stated[-1].digest != item.digest:
                self._write_item(item)

    def _write_item(self, item):
        record = {"kind": "item", **item.record(), "stated_at": _now()}
        self.state.note_item(record, self.spool.write(record))

    async def _phases(self, ask_again):
        """Ask what can be asked at once, then what hangs on that, top up what varies, and have texts judged."""
        rule, design = self.study.stopping_rule, self.design
        first, anchored = design.first_cells(), ()
        await self._ask(first, "answers" if design.paradigms else "baselines", range(rule.minimum))
        if design.anchor_places() and not self.stopping:
            anchored = design.anchored_cells(self._decide_anchors())
            await self._ask(anchored, "anchored", range(rule.minimum))
        if rule.maximum and not self.stopping:
            summaries = cell_summaries(self.path, design, rule.minimum)
            varied = {cell for cell, answers in summaries.items() if (answers.sd or 0) > rule.sd_above}
            cells = [cell for cell in itertools.chain(first, anchored) if cell in varied]
            await self._ask(cells, "top-ups", range(rule.minimum, rule.maximum))
        if ask_again and not self.stopping:
            await self._ask_again(ask_again, rule.maximum or rule.minimum)
        if design.judges and not self.stopping:
            await self._have_judged(ask_again, design.judges.repeats)

    async def _have_judged(self, ask_again, repeats):
        """Put every text that there is to the judges, and ask again what was asked for."""
        self._decide_texts()
        await self._ask(self.design.judgement_cells(self.state.judged), JUDGEMENTS, range(repeats))
        if ask_again and not self.stopping:
            await self._ask_again(ask_again, repeats, are_judgements=True)

    def _decide_texts(self):
        """Write down each text that is to be judged the first time that it is there; it stays, whatever comes later."""
        for item, text in self.design.originals():
            if item not in self.state.judged:
                self._write_judged(item, item, text, is_answer=False)
        if not self.design.judges.roles_of(is_answer=True):
            return
        judged_texts = {(judged.item, judged.text_hash) for judged in self.state.judged.values() if judged.is_answer}
        for trial_id, item, text in distinct_answers(self.path, self.design):
            if (item, text_hash(text)) not in judged_texts:
                self._write_judged(trial_id, item, text, is_answer=True)

    def _write_judged(self, judged, item, text, *, is_answer):
        record = {
            "kind": "judged", "judged": judged, "item": item, "is_answer": is_answer, "text_hash": text_hash(text),
            "text": text,
        }  # fmt: skip
        self.state.note_judged(record, self.spool.write(record))

    def _decide_anchors(self):
        """Take the anchors that were decided before; derive and write down the others."""
        design = self.design
        records = design.known_anchors(self.state.anchors)
        missing = [
            place
            for place in design.anchor_places()
            if self.new_anchors or not records.get(place, {}).keys() >= {*design.arms_to_decide(place[1])}
        ]
        means, doubts = {}, {}
        if any(design.hangs_on_answers(place[1]) for place in missing):
            means = mean_baselines(self.path, design)
            doubts = doubts_of_baselines(baseline_offences(self.path, design, self.study.stopping_rule.minimum))
        before = values_of(records)
        baselines = {place: mean for place, (mean, _) in means.items()}
        derived = design.anchors_from(baselines, {} if self.new_anchors else before) if missing else {}
        for place in missing:
            if place in doubts and design.hangs_on_answers(place[1]):
                self.outcome.doubts.append(doubts[place])
            elif place not in derived:
                self.outcome.no_anchors.append(_named(place))
            else:
                kept = before.get(place, {})
                new = {arm: value for arm, value in derived[place].items() if kept.get(arm) != value}
                if new:
                    record = self._write_anchors(place, new, derived[place], means.get(place))
                    records.setdefault(place, {}).update(dict.fromkeys(anchors_in(record), record))
        self.anchors = records
        return values_of(records)

    def _write_anchors(self, place, new, derived, base):
        """Write down what was decided of a place: in anchoring both directions, in a paradigm the arms that are new."""
        design, (llm, vignette, item) = self.design, place
        rule = design.rules[vignette]
        record = {"kind": "anchor", "llm": llm, "vignette": vignette}
        record["vignette_version"] = design.vignettes[vignette]["version"]
        if design.paradigms:
            paradigm = design.paradigm_of(vignette)
            version, _ = design.version(vignette, NO_TECHNIQUE, False, paradigm.relative_to)
            record |= {"item": item, "paradigm": paradigm.paradigm, "prompt_version": version, "arms": new}
            rule = {arm: rule[arm] for arm in new}
        else:
            record |= derived | ({"item": item} if item else {})
        mean, n = base if design.hangs_on_answers(vignette) else (None, None)
        record |= {"rule": rule, "baseline": mean, "n_trials": n, "decided_at": _now()}
        self.spool.write(record)
        return record

    async def _ask(self, cells, phase, replicates):
        if cells:
            self._plan(len(cells) * len(replicates), phase == JUDGEMENTS)
            await self._put(lambda llms: self.design.trials(cells, phase, replicates, llms), phase)

    def _plan(self, n, are_judgements):
        self.outcome.n_planned += n
        if are_judgements:
            self.outcome.judgements["n_planned"] += n

    async def _ask_again(self, statuses, n_replicates, are_judgements=False):
        """Give each trial that ended in one of the statuses, and was not asked again yet, one more replicate."""
        trials = []
        for place, (cell, replicate, trial_id) in enumerate(ended_trials(self.path, self.design, statuses)):
            if bool(cell.role) == are_judgements:
                n = n_replicates + replicate
                trials.append(self.design.trial(cell, n, "asked again", place, trial_id))
        self._plan(len(trials), are_judgements)
        await self._put(lambda llms: (trial for trial in trials if trial.cell.llm in llms), "asked again")

    async def _put(self, trials, phase):
        """Put trials to their endpoints, as many at a time as these take."""
        self.phase = phase
        self.tasks = []
        queues = []
        for key, why in self.lacking.items():
            for trial in self._missing(trials(self.llms_at[key])):
                self.outcome.silent_llms[trial.cell.llm] = str(why)
        for key, pace in self.paces.items():
            queues.append(self._missing(trials(self.llms_at[key])))
            work = (self._work(queues[-1], self.providers[key], pace) for _ in range(pace.most))
            self.tasks += map(asyncio.create_task, work)
        results = await asyncio.gather(*self.tasks, return_exceptions=True)
        self._count_those_before(queues)
        for result in results:
            if isinstance(result, asyncio.CancelledError):
                self._stop("interrupted")
            elif isinstance(result, BaseException):
                raise result

    def _missing(self, trials):
        for trial in trials:
            if trial.trial_id.encode() in self.state.closed:
                self.outcome.n_before += 1
                self.outcome.judgements["n_before"] += bool(trial.cell.role)
            else:
                yield trial

    def _count_those_before(self, queues):
        """Count what was collected before among the trials that a session that ends early did not come to."""
        for queue in queues:
            while self.outcome.n_before < self.n_closed and next(queue, None):
                pass

    async def _work(self, trials, provider, pace):
        for trial in trials:
            if self.stopping:
                return
            if trial.cell.llm in self.outcome.stopped_llms:
                continue
            try:
                await self._ask_trial(trial, provider, pace)
            except UserError as error:
                self.error = self.error or error
                self._stop("the spool cannot be written")
                return
            except Exception:
                self._stop("a defect of bais")
                raise
            self.on_progress(self)
            await asyncio.sleep(0)  # a simulated respondent never waits, and Ctrl-C has to get through

    async def _ask_trial(self, trial, provider, pace):
        script = self._script(trial)
        calls = self.state.open_calls.pop(trial.trial_id, [])
        replies, last, problem = [], None, script.problem
        for call in calls:
            if call["error"] is None and call["turn"] == len(replies):
                replies.append(call["text"] or "")
                last = call
        while not (last and last["status"] and last["status"][0] == "refused"):
            turn = script.next_turn(replies)
            if turn is None:
                break
            if is_beyond_context(self.llms[trial.cell.llm], turn):
                last, problem = None, BEYOND_CONTEXT
                self.outcome.n_beyond_context[trial.cell.llm] += 1
                break
            last = await self._ask_turn(trial, turn, len(replies), provider, pace, calls)
            if last is None:
                return
            if last["error"] is not None:
                break
            replies.append(last["text"] or "")
        self._close(trial, script, replies, last, calls, problem)

    async def _ask_turn(self, trial, turn, number, provider, pace, calls):
        """Ask until there is an answer; return the last call, or None if the trial stays open."""
        llm = self.llms[trial.cell.llm]
        if turn.max_tokens:
            llm = llm.model_copy(update={"max_tokens": turn.max_tokens})
        question = Question(llm, turn.messages, trial.cell.temperature, trial, number, turn.step, turn.round)
        prompt_hash = self._keep_prompt(turn.prompt, "message")
        before = [call for call in calls if call["turn"] == number]
        n_calls, n_attempts = len(before), sum(call.get("does") not in ("adapt", "stop_llm") for call in before)
        if before and (n_attempts >= self.limits.attempts or before[-1].get("does") == "fail"):
            return before[-1]
        while not self._is_over(llm):
            await pace.enter()
            if self._is_over(llm):
                pace.leave(0.0)
                break
            self.outcome.n_calls += 1
            n_calls += 1
            asked_at, began, reply, problem = _now(), time.monotonic(), None, None
            try:
                async with asyncio.timeout(self.limits.timeout_s):
                    reply = await provider.ask(question)
            except NoReply as error:
                problem = error
            except TimeoutError:
                problem = NoReply("timeout", f"no answer within {self.limits.timeout_s:g} s", is_throttle=True)
            finally:
                latency, is_throttle = time.monotonic() - began, bool(problem and problem.is_throttle)
                rest = min(problem.retry_after_s or 0, self.limits.longest_wait_s) if is_throttle else None
                pace.leave(began, is_throttle, rest)
            call = self._record(trial, turn, number, n_calls, prompt_hash, asked_at, latency, reply, problem)
            self.spool.write(call)
            calls.append(call)
            if call["error"] is None:
                self.failed_in_a_row[llm.llm] = 0
                return call
            does = problem and problem.does
            if does == "stop_llm":
                self.outcome.stopped_llms.setdefault(llm.llm, _why(call))
                break
            if does == "adapt":
                continue
            n_attempts += 1
            if does == "fail" or n_attempts >= self.limits.attempts:
                return call
            if problem:  # else it answered, in the wrong form: nothing to wait for
                await self._back_off(n_attempts, problem)
        return None

    def _is_over(self, llm):
        return self.stopping or llm.llm in self.outcome.stopped_llms or self._is_used_up()

    async def _back_off(self, n_attempts, problem):
        seconds = problem.retry_after_s
        if seconds is None:
            seconds = min(SLOWEST_BACKOFF_S, self.limits.backoff_s * 2 ** (n_attempts - 1)) * random.uniform(0.5, 1)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stop_event.wait(), min(seconds, self.limits.longest_wait_s))

    def _is_used_up(self):
        """Tell whether another call would exceed a limit.

        What is in flight, and what is of unknown price, counts like the mean call of the dearest LLM.
        """
        if self.max_calls is not None and self.outcome.n_calls >= self.max_calls:
            self._stop(f"the limit of {self.max_calls:,} calls")
            return True
        if self.max_cost_usd is not None:
            dearest = max((cost / n for cost, n in self.costs.values()), default=0.0)
            n_unknown = self.outcome.n_unpriced + sum(pace.in_flight for pace in self.paces.values())
            if self.outcome.cost_usd + dearest * n_unknown >= self.max_cost_usd:
                self._stop(f"the limit of {self.max_cost_usd:g} USD")
                return True
        return False

    def _record(self, trial, turn, number, attempt, prompt_hash, asked_at, latency, reply, problem):
        llm = self.llms[trial.cell.llm]
        record = {
            "kind": "call", "trial_id": trial.trial_id, "session": self.session, "turn": number, "step": turn.step,
            "round": turn.round, "attempt": attempt, "n_messages": len(turn.messages), "prompt_hash": prompt_hash,
            "asked_at": asked_at, "latency_s": round(latency, 6), "requested_model": llm.model or llm.llm,
        }  # fmt: skip
        if reply is None:
            return record | {
                "error": problem.reason, "error_detail": problem.words(self.redaction), "does": problem.does,
                "status": None, "text": None, "http_status": problem.http_status,
                "request_id": self.redaction.of_error(problem.request_id), "parameters": problem.parameters,
                "tokens_in": problem.tokens_in, "tokens_out": problem.tokens_out, **self._spend(llm, problem),
            }  # fmt: skip
        self.outcome.n_replies += 1
        text = self.redaction.of_answer(reply.text, MOST_CHARACTERS)
        status, error = _status(reply, self.study.cut_texts == "counted"), None
        if self.judge is not None and status is None:
            error = self.judge.error(trial, number, text)
        for name in reply.__slots__:  # the other fields stay as they came
            value = getattr(reply, name)
            record[name] = self.redaction.of_answer(value) if isinstance(value, str) else value
        record |= {
            "error": error, "error_detail": None, "status": status, "text": text,
            "request_id": self.redaction.of_error(reply.request_id),
            "refusal": self.redaction.of_answer(reply.refusal, MOST_CHARACTERS),
            "logprobs": self.redaction.of_tokens(reply.logprobs), **self._spend(llm, reply),
        }  # fmt: skip
        return record

    def _spend(self, llm, told):
        """Count what a call cost, answered or not, and return it with how it is known."""
        cost, source = (0.0, llm.provider) if llm.is_free else cost_of_call(told, self.prices.get(llm.llm))
        if cost is not None:
            self.outcome.cost_usd += cost
            if not llm.is_free:
                self._learn_cost(llm, cost)
        elif not isinstance(told, NoReply) or told.tokens_out:
            self.outcome.n_unpriced += 1
        return {"cost_usd": cost, "cost_source": source}

    def _learn_cost(self, llm, cost):
        if self.max_cost_usd is not None and not self.costs:
            for pace in self.paces.values():
                pace.open()
        self.costs[llm.llm][0] += cost
        self.costs[llm.llm][1] += 1

    def _close(self, trial, script, replies, last, calls, problem):
        """Write down that a trial is complete, and what it came to."""
        cell, failed = trial.cell, bool(last and last["error"])
        text, status, reason = _came_to(script, replies, last, calls, problem)
        version, template = self.design.version(*cell.asked_with)
        anchor = self.anchors.get(cell.place, {}).get(cell.in_arm)
        rule = self.design.rules[cell.vignette].get(cell.arm) if cell.arm else anchor and anchor["rule"]
        record = {
            "kind": "trial", "trial_id": trial.trial_id, "session": self.session, "study": self.study.study,
            "source": "simulated" if self.llms[cell.llm].provider == "simulated" else "collected",
            **self._said_of(trial),
            "replicate": trial.replicate, "phase": trial.phase, "order_index": trial.order_index,
            "attempt_of": trial.attempt_of, "prompt_version": self._keep_prompt(template, "template", version),
            "anchor_rule": rule, "anchor_baseline": anchor and anchor["baseline"],
            "anchor_n_trials": anchor and anchor["n_trials"],
            "status": status, "reason": reason, "text": text,
            "first_text": replies[0] if script.rounds and replies else None,
            "iterations": script.n_rounds(replies) if script.rounds and not failed else None,
            "n_calls": len(calls), "llm_returned": last.get("returned_model") if last else None,
            "asked_at": calls[0]["asked_at"] if calls else _now(), "finished_at": _now(),
        }  # fmt: skip
        if self.judge is not None and status is None:
            record["response"] = self.judge.response(trial, replies)
        self.spool.write(record)
        self.state.closed.add(trial.trial_id.encode())
        self.state.note_ending(record)
        self.outcome.n_done += 1
        self.outcome.judgements["n_done"] += bool(cell.role)
        self.outcome.statuses[status or "replied"] += 1
        if status == "failed":
            self.failed_in_a_row[cell.llm] += 1
            if self.failed_in_a_row[cell.llm] >= GIVE_UP_AFTER:
                why = f"{GIVE_UP_AFTER} trials in a row failed, the last with {_why(last)}"
                self.outcome.stopped_llms.setdefault(cell.llm, why)
        if self.on_trial:
            self.on_trial(trial, record, calls)

    def _said_of(self, trial):
        """Say which cell a trial is of and, in a paradigm, how its answer is to be read; write its item down once."""
        cell = {name: value for name, value in trial.cell._asdict().items() if name not in ("judged", "role")}
        if trial.cell.item and trial.cell.item not in self.state.items:
            self._write_item(self.design.items[trial.cell.item])
        if not (trial.cell.arm or trial.cell.role):
            return {name: cell[name] for name in cell if name != "arm" and (name != "item" or trial.cell.item)}
        if trial.cell.role:
            judges = self.design.judges
            return cell | {
                "paradigm": judges.paradigm, "judged": trial.cell.judged, "role": trial.cell.role,
                "repeat": trial.replicate, "answer_kind": "label", "answer_reading": judges.reading,
            }  # fmt: skip
        paradigm = self.design.paradigm_of(trial.cell.vignette)
        answer = paradigm.answer
        return cell | {
            "paradigm": paradigm.paradigm,
            "option_order": json.dumps(trial.option_order) if trial.option_order else None,
            "answer_kind": answer.kind,
            "answer_reading": answer.reading if answer.kind in ("choice", "label") else None,
            **({"answer_after": answer.answer_after} if answer.answer_after else {}),
        }

    def _name_silent_llms(self):
        """Name the LLMs that did not answer at all when last they were asked, now or in an earlier session."""
        for llm in self.llms.keys() - self.outcome.stopped_llms.keys() - self.outcome.silent_llms.keys():
            ending = self.state.endings.get(llm)
            if ending and ending.n_failed and (ending.n_failed >= GIVE_UP_AFTER or not ending.is_heard):
                last = f"its last {ending.n_failed:,} trials" if ending.n_failed > 1 else "its last trial"
                why = _why(last_call(self.path, ending.trial_id))
                self.outcome.silent_llms[llm] = f"{last} failed, with {why}"

    def _keep_prompt(self, text, prompt_kind, prompt_hash=None):
        """Write a text down the first time it is used."""
        prompt_hash = prompt_hash or text_hash(text)
        if prompt_hash.encode() not in self.state.prompts:
            self.state.prompts.add(prompt_hash.encode())
            text = as_text(text, 2 * MOST_CHARACTERS)
            self.spool.write({"kind": "prompt", "prompt_hash": prompt_hash, "prompt_kind": prompt_kind, "text": text})
        return prompt_hash

    def _script(self, trial):
        cell = trial.cell
        if cell.role:
            text = self.spool.read(self.state.judged[cell.judged].place)["text"]
            return self.design.judges.script(cell.role, self.design.items.get(cell.item), text)
        if cell.arm or cell.item:  # made for each trial: there are as many as items
            return self.design.script(cell, trial.option_order)
        key = cell._replace(temperature=None)
        if key not in self.scripts:
            self.scripts[key] = self.design.script(cell)
        return self.scripts[key]


def most_at_a_time(llm, study) -> int:
    """Return how many calls at a time the endpoint of an LLM gets."""
    return min(study.limits.concurrency, AT_A_TIME.get(llm.provider, study.limits.concurrency))


def provider_of(llm, design: Design) -> tuple:
    """Say what LLMs that share an endpoint have in common, and return a function that makes the provider."""
    study = design.study
    if llm.provider == "simulated":
        from ingest.providers.simulated import Simulated

        return ("simulated",), lambda: Simulated(design)
    if llm.provider == "codex":
        from ingest.providers.codex import Codex

        return ("codex",), Codex
    if llm.provider == "local":
        from ingest.providers.local import Local

        return ("local", llm.llm), lambda: Local(llm, design)
    from ingest.providers.openai_compatible import OpenAICompatible, address_of

    base_url, _, variable = address_of(llm, study.endpoint)
    return (base_url, variable), lambda: OpenAICompatible(base_url, variable, study.endpoint, study.limits)


def collect(study, **options) -> Outcome:
    """Collect what is missing of a study, with the options of `Collector` and `ask_again`."""
    ask_again = options.pop("ask_again", ())
    return Collector(Design(study), **options).collect(ask_again)


def mean_baselines(path, design) -> dict[tuple, tuple[float, int]]:
    """Return the mean answer of the baseline cells of each place, and of how many answers it is."""
    summaries = cell_summaries(path, design, design.study.stopping_rule.minimum)
    sums = collections.defaultdict(lambda: [0.0, 0])
    for cell in design.baseline_cells():
        if cell in summaries and summaries[cell].n:
            total = sums[cell.place]
            total[0] += summaries[cell].mean * summaries[cell].n
            total[1] += summaries[cell].n
    return {place: (total / n, n) for place, (total, n) in sums.items()}


def doubts_of_baselines(offences: list[Offence]) -> dict[tuple, str]:
    """Return a sentence on each place of which the gate would not let the answers without anchor through."""
    from ingest.gate.suite import read_config

    config = read_config()
    doubts = {}
    for offence in offences:
        check = config["checks"].get(offence.check_name, {"fail": 0})
        n_left = offence.n_of_cell - offence.n
        # where all are refusals, nothing could be misread: there are no baselines
        is_refused = offence.check_name == "refused" and 0 < n_left < config["settings"]["fewest"] <= offence.n_of_cell
        if is_refused or (check["fail"] is not None and offence.n > check["fail"] * offence.n_of_cell):
            doubts.setdefault(offence.place, _doubt(offence))
    return doubts


def _named(place):
    """Name an LLM, a vignette and, if there is one, an item."""
    llm, *named = place
    return f"{llm} on {' with item '.join(filter(None, named))}"


def _doubt(offence):
    """Say which answers keep anchors from being derived, and what to do."""
    which, mend = WHAT_IS_IN_DOUBT[offence.check_name]
    text = " ".join((offence.text or "").split())
    text = f"{text[:MOST_QUOTED]}\u2026" if len(text) > MOST_QUOTED else text
    usual = f"{offence.usual_number:.15g}" if offence.usual_number is not None else ""
    named = ", ".join(trial_id[:12] for trial_id in offence.trial_ids[:MOST_NAMED])
    more = f" and {offence.n - MOST_NAMED:,} more" if offence.n > MOST_NAMED else ""
    return (
        f"no anchors for {_named(offence.place)} yet: of its {offence.n_of_cell:,} answers without anchor "
        f"{offence.n:,} {which.format(text=text, usual=usual)} (trial {named}{more}): {mend}, and run it again"
    )


def read_prices() -> dict[str, tuple[float, float]]:
    """Return what an LLM costs, in USD per million tokens in and out."""
    return {
        row["llm"]: (float(row["usd_per_million_tokens_in"]), float(row["usd_per_million_tokens_out"]))
        for row in seed_rows("prices")
    }


def cost_of_call(told, price: tuple[float, float] | None) -> tuple[float | None, str | None]:
    """Return what a call cost and how that is known: as the endpoint reports it, else by a price per million tokens."""
    if told.cost_usd is not None:
        return told.cost_usd, "reported"
    if price is None or told.tokens_in is None or told.tokens_out is None:
        return None, None
    return price_of(told.tokens_in, told.tokens_out, price), "price_list"


def price_of(tokens_in: int, tokens_out: int, price: tuple[float, float]) -> float:
    """Return what tokens cost, by a price per million of them."""
    return (tokens_in * price[0] + tokens_out * price[1]) / 1e6


@functools.cache
def git_revision():
    """Return the revision of this checkout, or None if that cannot be told; git writes nothing to tell it."""
    if not IS_CHECKOUT:  # the packages may lie in a checkout of something else
        return None
    revision, changes = git(ROOT, "rev-parse", "HEAD"), git(ROOT, "status", "--porcelain", "--untracked-files=no")
    return None if revision is None or changes is None else revision.strip() + ("-dirty" if changes else "")


def _came_to(script, replies, last, calls, problem):
    """Return the text that a trial came to, and its status and reason where these are known before the text is read."""
    if last is None:  # there was nothing to ask, or nothing that the LLM could hold
        return None, "unparsed", problem
    text = last["text"] or last.get("refusal") or last["text"]
    if last["error"] is not None:
        is_filtered = last["error"] == "content_filter"
        status = "refused" if is_filtered else "failed" if last["text"] is None else "unparsed"
        return text, status, last["error"]
    if last["status"] or not script.steps:
        return text, *(last["status"] or (None, None))
    text, reason = script.steps.answer(replies)
    if script.steps.are_joined:
        statuses = [call["status"] for call in calls if call["error"] is None and call["status"]]
        return text, *(statuses[0] if statuses else (None, None))
    return text, "unparsed" if reason else None, reason


def _why(call):
    return f"{call['error']}: {call['error_detail']}" if call["error_detail"] else call["error"]


def _status(reply, counts_cut):
    """Return the status and the reason of an answer that is known before it is read, or None.

    A reply that reached `max_tokens` is cut off, and is read as others are where the study counts cut texts.
    """
    if reply.finish_reason == "content_filter":
        return "refused", "content_filter"
    if reply.refusal and not (reply.text or "").strip():
        return "refused", "refusal"
    if reply.finish_reason == "length" and not counts_cut:
        return "unparsed", "cut_off"
    if reply.text and len(reply.text) > MOST_CHARACTERS:
        return "unparsed", "too_long"
    return None


def _now():
    return datetime.now(UTC).isoformat()
