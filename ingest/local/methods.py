"""The methods of document C that need logits or attentions, each a small object; numpy alone, no LLM runs here.

A method is given the logits of the next token and what it may ask of the text that is being written, and returns
changed logits. What document C leaves open is said where it is decided, and stands in techniques.yaml where it is a
number or a text.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from ingest.local.coverage import BEGINNING, END, MIDDLE, Coverage
from ingest.local.settings import Decoding

MOST_MU = 50.0  # below minus that, a temperature leaves the likeliest token alone; above that, all are alike


class Writing(Protocol):
    """What a method may ask of the text that is being written."""

    def text(self, *more: int) -> str:
        """Return what is written, and more tokens behind it."""

    def tokens_of(self, words: Sequence[str]) -> np.ndarray:
        """Return the tokens that begin one of these words, or are one."""

    def after_prefix(self, prefix: str) -> np.ndarray:
        """Return the logits at the same place of a second pass, in which a prefix stands before all that was asked."""

    def draw(self, logits: np.ndarray) -> int:
        """Draw a token as it would be drawn now."""

    def explain(self, question: str, most_tokens: int) -> str:
        """Return what the LLM answers to a question, in a conversation of its own."""


class Method:
    """No method at all: the logits stay as they are.

    Parameters
    ----------
    settings : Decoding, optional
        What the technique says of the method.
    text : str
        What is written about.
    """

    sets_temperature = False

    def __init__(self, settings: Decoding | None = None, text: str = ""):
        self.settings, self.source = settings, text

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Return what the next token is drawn by."""
        return logits

    def took(self, token: int) -> None:
        """Learn which token was drawn."""


class CoverageMethod(Method):
    """A method that looks at how much of each part of the text is covered."""

    def __init__(self, settings: Decoding, text: str):
        super().__init__(settings, text)
        self.coverage = Coverage(text)


class BalancedCoverage(CoverageMethod):
    """Make words of the parts that are covered too little likelier, while beginning and end are covered unlike.

    Parts count as covered too little where they are more than the threshold below the one that is covered best.

    References
    ----------
    Document C, table A5, "Forced Balanced Coverage"; See, Liu & Manning (2017), arXiv:1704.04368.
    """

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Add log(gamma) to the logits of tokens from the parts that are covered too little."""
        covered, threshold = self.coverage.of(writing.text()), self.settings.threshold
        if abs(covered[BEGINNING] - covered[END]) <= threshold:
            return logits
        lacking = np.flatnonzero(covered.max() - covered > threshold)
        words = [word for part in lacking for word in self.coverage.words(part)]
        return _weighted(logits, writing.tokens_of(words), self.settings.gamma)


class WeightedTokens(CoverageMethod):
    """Weigh the probabilities of negative words and of keywords of the middle.

    A keyword that is a negative word too gets both weights.

    References
    ----------
    Document C, section 6 and table A5, "Weighted Token Decoding"; Liu et al. (2021), arXiv:2105.03023.
    """

    @cached_property
    def keywords(self) -> list[str]:
        """The weightiest words of the middle."""
        return self.coverage.words(MIDDLE)[: self.settings.n_middle_keywords]

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Add the logarithm of its weight to the logit of each of these tokens."""
        lowered = _weighted(logits, writing.tokens_of(self.settings.negative_words), self.settings.w_neg)
        return _weighted(lowered, writing.tokens_of(self.keywords), self.settings.w_mid)


class SurpriseControl(Method):
    r"""Mirostat as document C writes it: the temperature follows how surprising the tokens were.

    With :math:`s_t = -\log p_t`, the surprise in nats of the token that was drawn under the LLM's own probabilities,
    :math:`\mu_{t+1} = \mu_t - \eta (s_t - \mu^*)` and :math:`T_t = \exp(\mu_{t+1})`, by which the logits are divided.
    The first token is drawn at :math:`\exp` of the initial :math:`\mu`, which document C does not print.

    References
    ----------
    Document C, table A5, "Mirostat Decoding"; Basu et al. (2021), arXiv:2007.14966, algorithm 1, which cuts the tail
    off instead of setting a temperature.
    """

    sets_temperature = True

    def __init__(self, settings: Decoding, text: str):
        super().__init__(settings, text)
        self.mu, self.log_p = settings.initial_mu, None

    @property
    def temperature(self) -> float:
        """The temperature that the next token is drawn at."""
        return float(np.exp(np.clip(self.mu, -MOST_MU, MOST_MU)))

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Divide the logits by the temperature."""
        self.log_p = log_softmax(logits)
        return logits / self.temperature

    def took(self, token: int) -> None:
        """Move the state by how surprising the token was."""
        surprise = -self.log_p[token]
        self.mu -= self.settings.eta * (surprise - self.settings.mu_star)


class Rejection(CoverageMethod):
    """Do not take the likeliest token where it would make the coverage of the parts less even.

    Imbalance is how far the coverage of the part covered best is above that of the part covered least. What is drawn
    from then are the `k` likeliest of the other tokens.

    References
    ----------
    Document C, table A5, "Rejection Sampling".
    """

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Leave the logits as they are, or keep the `k` that come after the highest."""
        likeliest = int(np.argmax(logits))
        if self._imbalance(writing.text(likeliest)) <= self._imbalance(writing.text()):
            return logits
        others = _without(logits, likeliest)
        drawn_from = np.argsort(-others, kind="stable")[: self.settings.k]
        kept = np.full_like(logits, -np.inf)
        kept[drawn_from] = others[drawn_from]
        return kept

    def _imbalance(self, written):
        return float(np.ptp(self.coverage.of(written)))


class Contrast(Method):
    r"""Self-debiasing: lower what a second pass likes better, in which a prefix names what is not wanted.

    With :math:`\Delta = p_{main} - p_{bias}`, a token with :math:`\Delta < 0` becomes :math:`e^{\lambda \Delta}` times
    as likely. The second pass is made anew every few tokens; between, its probabilities stay as they were.

    References
    ----------
    Document C, table A5, "Self-Debias Decoding"; Schick, Udupa & Schütze (2021), arXiv:2103.00453, section 4.
    """

    def __init__(self, settings: Decoding, text: str):
        super().__init__(settings, text)
        self.n_seen, self.p_bias = 0, None

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Add lambda times the difference of the two passes where it is below 0."""
        if self.n_seen % self.settings.refresh_every == 0:
            self.p_bias = np.exp(log_softmax(writing.after_prefix(self.settings.prefix)))
        self.n_seen += 1
        difference = np.exp(log_softmax(logits)) - self.p_bias
        return logits + self.settings.strength * np.minimum(difference, 0)


class Guard(Method):
    """Have the LLM say why it goes on as it is about to; what it must not say has the token drawn again.

    Where every draw was rejected, what is left is drawn from without a further question.

    References
    ----------
    Document C, table A5, "Local-Explanation Guard", which prints no question and no rules.
    """

    def __init__(self, settings: Decoding, text: str):
        super().__init__(settings, text)
        self.n_seen = 0
        self.rules = [re.compile(rule, re.IGNORECASE) for rule in settings.rejects]

    def change(self, logits: np.ndarray, writing: Writing) -> np.ndarray:
        """Every few tokens, leave the one that the LLM can explain, or take away those that it cannot."""
        self.n_seen += 1
        if self.n_seen % self.settings.check_every:
            return logits
        for _ in range(self.settings.most_rejections):
            token = writing.draw(logits)
            if not self._is_rejected(writing, token):
                return _only(logits, token)
            if np.isfinite(logits).sum() == 1:
                break
            logits = _without(logits, token)
        return logits

    def _is_rejected(self, writing, token):
        written = writing.text()
        words = {"text": self.source, "written": written, "continuation": writing.text(token)[len(written) :]}
        question = re.sub(r"\{(text|written|continuation)\}", lambda match: words[match[1]], self.settings.question)
        explanation = " ".join(writing.explain(question, self.settings.explanation_tokens).split())
        return any(rule.search(explanation) for rule in self.rules)


METHODS = {
    "forced_balanced_coverage": BalancedCoverage,
    "weighted_token_decoding": WeightedTokens,
    "mirostat": SurpriseControl,
    "rejection_sampling": Rejection,
    "self_debias": Contrast,
    "explanation_guard": Guard,
}


def method_of(settings: Decoding | None, text: str) -> Method:
    """Return the method that changes logits as settings say, for one text that is written about.

    Attention-Sort changes what is asked, and no logits; a technique without settings changes nothing but words.
    """
    return METHODS.get(settings.method if settings else None, Method)(settings, text)


def sorted_by_attention(n: int, attended: Callable[[Sequence[int]], Sequence[float]], iterations: int) -> list[int]:
    """Order segments from the least attended to the most, several times over, each time as they stand by then.

    Parameters
    ----------
    n : int
        How many segments there are.
    attended : callable
        From an order of the segments to the attention that each of them gets there, in that order.
    iterations : int

    Returns
    -------
    list of int
        The places that the segments have in the text, as they are to be shown.

    References
    ----------
    Document C, table A5, "Attention-Sort Re-ordering"; Peysakhovich & Lerer (2023), arXiv:2310.01427, algorithm 1.
    """
    order = list(range(n))
    for _ in range(iterations):
        least_first = np.argsort(attended(order), kind="stable")
        order = [order[place] for place in least_first]
    return order


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the log-probabilities of logits; of minus infinity there is none."""
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def _weighted(logits, tokens, weight):
    """Make tokens `weight` times as likely, as long as probabilities are not brought back to a sum of 1."""
    changed = logits.copy()
    changed[tokens] += np.log(weight)
    return changed


def _without(logits, token):
    changed = logits.copy()
    changed[token] = -np.inf
    return changed


def _only(logits, token):
    changed = np.full_like(logits, -np.inf)
    changed[token] = logits[token]
    return changed
