"""Ask through the Codex command line: `codex exec`, the prompt on stdin, in an empty folder of its own.

The command is `BAIS_CODEX`, else the one that `npm install` puts into one's own folder or this checkout, else the
`codex` on the PATH. Nothing is ever installed by asking.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

from ingest.providers import NoReply, Reply
from ingest.warehouse import IS_CHECKOUT, ROOT, UserError, own_folder

MOST_BYTES = 10_000_000


def codex_command() -> str:
    """Return the path of the Codex command line."""
    named, pinned = os.environ.get("BAIS_CODEX"), _folder() / "node_modules" / ".bin" / "codex"
    if not named and pinned.exists():
        return str(pinned)
    if path := shutil.which(named or "codex"):
        return path
    if named:
        raise UserError(f"BAIS_CODEX names {named}, which is no program that can be run")
    raise UserError(
        f"the Codex command line is not there: run {installation()}, set BAIS_CODEX to its path, or name an LLM with "
        "--model"
    )


def installation() -> str:
    """Return what installs it, and where: in the checkout the version that package.json pins."""
    return f"`npm install{'' if _folder() == ROOT else ' @openai/codex'}` in {_folder()}"


def _folder():
    return own_folder() or (ROOT if IS_CHECKOUT else Path.cwd())


class Codex:
    """The Codex command line; who asks says how long to wait."""

    def __init__(self):
        self.secret = os.environ.get("OPENAI_API_KEY", "").strip() or None
        self.command = codex_command()
        self.version = None
        self.running = set()

    async def ask(self, question) -> Reply:
        """Make one call; a conversation goes as one prompt, each message under its role."""
        if self.version is None:
            self.version = await self._read_version()
        model = question.llm.model
        recorded = {"command": "codex exec", "codex_version": self.version}
        if model:
            recorded["model"] = model
        settings = question.llm.model_dump(include={"max_tokens", "top_logprobs"})
        settings = {"temperature": question.temperature, **settings}
        if ignored := [name for name, value in settings.items() if value is not None]:
            recorded["not_sent"] = ignored
        with tempfile.TemporaryDirectory(prefix="bais-codex-", ignore_cleanup_errors=True) as folder:
            work, answer = Path(folder) / "work", Path(folder) / "answer.txt"
            work.mkdir()
            command = [
                self.command, "exec", "--skip-git-repo-check", "--sandbox", "read-only", "--json",
                "--output-last-message", str(answer), *(["--model", model] if model else []), "-",
            ]  # fmt: skip
            code, events, errors = await self._run(command, _as_one_prompt(question.messages), work, recorded)
            text = _beginning(answer) if answer.exists() else ""
        if code != 0:
            last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "it said nothing")
            raise NoReply("codex_exit", f"exit {code}", detail=last, parameters=recorded)
        if not text.strip():
            raise NoReply("empty_answer", "codex wrote no last message", parameters=recorded)
        thread, usage = _read_events(events)
        return Reply(
            text=text,
            finish_reason="stop",
            request_id=thread,
            parameters=recorded,
            tokens_in=usage.get("input_tokens"),
            tokens_out=usage.get("output_tokens"),
        )

    async def close(self):
        """Stop what still runs."""
        for process in list(self.running):
            _kill(process)

    async def _run(self, command, prompt, work, recorded):
        try:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=work, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise NoReply("codex_start", str(error.strerror), "stop_llm", parameters=recorded) from None
        self.running.add(process)
        try:
            events, errors = await process.communicate(prompt.encode())
        finally:
            _kill(process)
            await process.wait()
            self.running.discard(process)
        return process.returncode, events, errors.decode("utf-8", "replace")

    async def _read_version(self):
        with contextlib.suppress(OSError, TimeoutError):
            process = await asyncio.create_subprocess_exec(
                self.command, "--version", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            version, _ = await asyncio.wait_for(process.communicate(), 20)
            return version.decode("utf-8", "replace").strip()[:100]
        return ""


def _beginning(path):
    with open(path, "rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")


def _read_events(events):
    """Return the thread's id and the tokens that codex reports, as far as it does."""
    thread, usage = None, {}
    for line in events[-MOST_BYTES:].splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            event = json.loads(line)
            thread = event.get("thread_id") or thread
            usage = event.get("usage") or usage
    return thread, {name: n for name, n in usage.items() if isinstance(n, int)}


def _kill(process):
    """Stop the program and what it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _as_one_prompt(messages):
    if len(messages) == 1:
        return messages[0]["content"]
    names = {"user": "User", "assistant": "You"}
    parts = [f"{names[message['role']]}:\n{message['content']}" for message in messages]
    return "This is a conversation so far; reply to its last message.\n\n" + "\n\n".join(parts)
