"""How much faster `bais score` is than the notebook of document D, on the same LLM.

The notebook makes 17 passes for each anchor and target of a variation: one for the score, and one for each coalition of
the fields. It is timed on 8 of the 101 targets. On a GPU an LLM of the shape of a 7B Llama is scored as well, and how
much of what the GPU can do that takes.
"""

import os
import tempfile
import time
from pathlib import Path

from ingest.scoring.questions import PLAYERS, load_questions
from ingest.scoring.targets import TARGETS
from tests.ingest.scoring.tiny import questions_of
from tests.tools.ratios import Bench

H100_TFLOPS = 989  # dense, in bfloat16, as its maker says


def notebook(llm, prompts, targets):
    """Score targets after prompts as document D's notebook does: one text at a time, all its logits."""
    import torch

    for prompt in prompts:
        for target in targets:
            whole = torch.tensor(llm.encode([f"{prompt} {target}%"]), device=llm.device)
            ids = torch.tensor(llm.encode([f"{target}%"])[0], device=llm.device)
            with torch.no_grad():
                log_p = torch.log_softmax(llm.model(whole).logits[0, :-1].float(), -1)
            log_p[-len(ids) :].gather(1, ids[:, None]).sum().item()


def made(config, device, dtype):
    """Make a random LLM of a shape, with a tokenizer that cuts numbers as GPT-2's does."""
    import torch
    import transformers

    from ingest.local.llm import LocalLlm
    from tests.ingest.scoring.trained import byte_level

    torch.manual_seed(0)
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    return LocalLlm("random", "0", model, byte_level(False))


def bench_gpt2(bench):
    import torch
    import transformers

    config = transformers.GPT2Config(n_layer=bench.scaled(12), n_embd=12 * bench.scaled(64))
    llm = made(config, "cpu", torch.float32)
    questions = load_questions()
    of_v0 = [cell.prompt for cell in questions.cells if cell.variation == "V0"]
    full = [cell.prompt for cell in questions.cells if cell.variation == "V0" and cell.coalition == set(PLAYERS)]
    notebook(llm, full[:1], [0])  # warm
    began = time.perf_counter()
    n_timed = bench.scaled(8)
    timed = list(TARGETS)[:: len(TARGETS) // n_timed][:n_timed]
    notebook(llm, of_v0 + full, timed)
    of_notebook = (time.perf_counter() - began) * len(TARGETS) / n_timed
    n_variations = len({cell.variation for cell in questions.cells})
    for what, asked, expected, goal in (
        ("one variation", questions_of("V0"), of_notebook, "at least 40"),
        ("all variations", questions, of_notebook * n_variations, "at least 60"),
    ):
        seconds = timed_scoring(llm, asked)
        bench.record(
            f"bais score, {what}: speed", "the notebook", expected / seconds, goal, seconds=seconds,
            details=f"the notebook {expected:.0f} s, from {n_timed} of {len(TARGETS)} targets",
        )  # fmt: skip


def timed_scoring(llm, questions):
    """Score all of a file of questions into a spool of its own, and return the seconds that it took."""
    from ingest.scoring.scorer import score

    with tempfile.TemporaryDirectory() as folder:
        os.environ["BAIS_WAREHOUSE"] = str(Path(folder) / "warehouse.duckdb")
        began = time.perf_counter()
        outcome = score(llm, questions)
        seconds = time.perf_counter() - began
        assert outcome.way == "tree", outcome.way
    return seconds


def bench_7b(bench):
    import torch
    import transformers

    from ingest.scoring.passes import Tree
    from ingest.scoring.targets import Targets

    config = transformers.LlamaConfig(
        vocab_size=32_000, hidden_size=4096, intermediate_size=11_008, num_hidden_layers=bench.scaled(32),
        num_attention_heads=32, max_position_embeddings=4096,
    )  # fmt: skip
    llm = made(config, "cuda", torch.bfloat16)
    questions = load_questions()
    timed_scoring(llm, questions_of("V0"))  # warm
    seconds = timed_scoring(llm, questions)
    n_tokens = sum(len(Tree(spelling).ids) for spelling in Targets(llm).after(list(questions.prompts.values())))
    n_weights = sum(weights.numel() for weights in llm.model.parameters())
    tflops = 2 * n_weights * n_tokens / seconds / 1e12
    bench.record(
        "bais score of a 7B Llama in bfloat16: TFLOP/s", f"an H100's {H100_TFLOPS}", tflops / H100_TFLOPS,
        seconds=seconds,
        details=f"{torch.cuda.get_device_name()}, {len(questions.prompts)} prompts, {n_tokens / seconds:,.0f} tokens/s",
    )  # fmt: skip


def main():
    """Time what is here to be timed; without torch say so."""
    bench = Bench(__doc__)
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        bench.leave_out("the scorer", f"{error}; `make local` installs what it takes")
        return
    bench_gpt2(bench)
    if torch.cuda.is_available():
        bench_7b(bench)


if __name__ == "__main__":
    main()
