"""Put questions to an LLM as people do who chat with it: each prompt a person's message in the LLM's chat template."""

import hashlib

from ingest.local import CANNOT_BE_ASKED
from ingest.local.llm import LocalLlm, problem_of
from ingest.scoring.questions import Chat, ChatQuestions, Questions
from ingest.warehouse import UserError, printable

INSTEAD = "without --chat its prompts are put as they are"


def in_chat(llm: LocalLlm, questions: Questions) -> ChatQuestions:
    """Return the questions as they are put in the chat template of an LLM; why they cannot be is one sentence.

    What a template writes around the messages has to be the same for all of them, and each has to stand there as it is,
    so that prompts differ in nothing but their fields.
    """
    name = printable(llm.name)
    if not llm.chat_template:
        raise UserError(f"the tokenizer of {name} has no chat template: {INSTEAD}", CANNOT_BE_ASKED)
    messages = sorted(questions.prompts.values(), key=len, reverse=True)
    try:
        chats = [llm.in_chat(message) for message in messages]
    except Exception as error:  # a template is a program of its own, and may raise anything
        raise UserError(
            f"the chat template of {name} cannot put a message: {problem_of(error)}; {INSTEAD}", CANNOT_BE_ASKED
        ) from None
    before, _, after = chats[0].partition(messages[0])
    if any(chat != f"{before}{message}{after}" for message, chat in zip(messages, chats, strict=True)):
        raise UserError(
            f"the chat template of {name} does not write a message once and as it is, so that what it would be scored "
            f"on is not what was asked: {INSTEAD}",
            CANNOT_BE_ASKED,
        )
    template_hash = hashlib.sha256(llm.chat_template.encode()).hexdigest()
    chat = Chat(before=before, after=after, template_hash=template_hash)
    return ChatQuestions(**questions.model_dump(), chat=chat)
