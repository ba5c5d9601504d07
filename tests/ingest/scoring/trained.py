"""Tokenizers of two kinds, trained on the prompts; they need what `make local` installs."""

import tokenizers
import transformers

from ingest.scoring.questions import load_questions

PROMPTS = list(load_questions().prompts.values())


def byte_level(bos):
    """Byte-level BPE, as GPT-2's: a space belongs to the number after it, numbers are cut as they were learned."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=550,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator([f"{prompt} {n}%" for n, prompt in enumerate(PROMPTS)], trainer)
    return _wrapped(made, bos)


def sentence_piece(bos):
    """Unigram with a mark for spaces and single digits, as Llama's and Gemma's."""
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Metaspace(), tokenizers.pre_tokenizers.Digits(individual_digits=True)]
    )
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=500,
        special_tokens=["<unk>", "<s>", "</s>"],
        unk_token="<unk>",
        initial_alphabet=list("0123456789%"),
    )
    made.train_from_iterator(PROMPTS, trainer)
    return _wrapped(made, bos)


def _wrapped(made, bos):
    if bos:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
