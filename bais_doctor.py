"""`bais doctor`, `bais docs`, `bais completion`: what this machine lacks, what tables mean, what can be typed."""

import argparse
import os
import sys
from pathlib import Path

from ingest.warehouse import ROOT, UserError, connect, printable, warehouse_path

OK, NOTE, WARNING, MISSING = "ok", "note", "warning", "missing"
OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 2 << 30
NEEDED_SCHEMAS = ("marts", "inference")
KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_BASE_URL")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MOST_NAMED = 5


def add_doctor_commands(command):
    """Declare the three commands.

    Parameters
    ----------
    command : callable
        Takes a name, what runs it and a summary, and returns the parser of the command.
    """
    examined = command("doctor", doctor, "say what is missing on this machine, and how to mend it")
    examined.add_argument("--json", action="store_true", help="as JSON")
    examined.add_argument("--strict", action="store_true", help="exit 1 on warnings")
    documented = command("docs", docs, "build dbt's documentation of the tables: one page, which needs no network")
    documented.add_argument("--out", type=Path, metavar="DIR", help="the folder (default: docs/ beside the warehouse)")
    completed = command("completion", completion, "print a script that completes `bais` in a shell")
    completed.add_argument("shell", choices=("bash", "zsh", "fish"))


# bais doctor


def doctor(options):
    """Say what is missing on this machine, and how to mend it.

    Returns
    -------
    int
        0, 1 for warnings where `--strict` asks, 2 where something is missing that is needed.
    """
    import json

    from bais.terminal import fold as _fold
    from bais.terminal import terminal_width as _width

    findings = [finding for look in LOOKS for finding in look()]
    if options.json:
        print(json.dumps([dict(zip(("state", "what", "said", "mend"), f, strict=True)) for f in findings], indent=2))
    else:
        width = _width()
        for state, what, said, mend in findings:
            text = f"{said}{f': {mend}' if mend else ''}"
            first, *rest = _fold(printable(text), max(width - 27, 30)) if width else [printable(text)]
            print(f"{state:<8} {what:<16}  {first}".rstrip())
            for line in rest:
                print(f"{'':<27}{line}")
        print(_sum_up([state for state, *_ in findings]))
    states = {state for state, *_ in findings}
    return 2 if MISSING in states else 1 if options.strict and WARNING in states else 0


def _sum_up(states):
    n_missing, n_warnings = states.count(MISSING), states.count(WARNING)
    if n_missing:
        return f"{n_missing} needed thing{'' if n_missing == 1 else 's'} missing."
    if n_warnings:
        return f"All that is needed is here; {n_warnings} warning{'' if n_warnings == 1 else 's'}."
    return "All that is needed is here."


def _python():
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        yield MISSING, "python", f"Python {version}", f"install Python {oldest} or newer, and run `make`"
    else:
        yield OK, "python", f"Python {version}", None
    if sys.prefix == sys.base_prefix:
        mend = "run `make run`, which makes .venv, and use .venv/bin/bais"
        yield WARNING, "environment", "no virtual environment", mend
    else:
        yield OK, "environment", str(sys.prefix), None


def _packages():
    path = ROOT / "requirements.lock"
    try:
        locked = locked_versions(path.read_text(encoding="utf-8"))
    except OSError:
        yield WARNING, "packages", "requirements.lock cannot be read", "check the files of the checkout out again"
        return
    from importlib.metadata import distributions

    installed = {_canonical(found.name): found.version for found in distributions() if found.name}
    absent = [name for name in locked if name not in installed]
    other = [f"{name} {installed[name]}, not {v}" for name, v in locked.items() if installed.get(name, v) != v]
    mend = "run `rm .venv/installed`, then `make run`"
    if absent:
        yield MISSING, "packages", f"{len(absent)} of the lock not installed ({_some(absent)})", mend
    if other:
        yield WARNING, "packages", f"{len(other)} of another version than the lock's ({_some(other)})", mend
    if not absent and not other:
        yield OK, "packages", f"all {len(locked)} as requirements.lock has them", None


def locked_versions(text):
    """Read which packages a lock file asks for on this machine.

    Parameters
    ----------
    text : str
        As `uv pip compile --generate-hashes` writes it.

    Returns
    -------
    dict of str to str
        The version of each package.
    """
    from packaging.requirements import Requirement

    locked = {}
    for line in text.splitlines():
        if not line.strip() or line[0] in " #-":
            continue
        requirement = Requirement(line.split(" --hash")[0].rstrip(" \\"))
        if not requirement.marker or requirement.marker.evaluate():
            locked[_canonical(requirement.name)] = next(iter(requirement.specifier)).version
    return locked


def _canonical(name):
    import re

    return re.sub(r"[-_.]+", "-", name).lower()


def _some(names):
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _programs():
    from shutil import which

    for name, why in (("git", "to record which version asked"), ("make", "for `make run` and `make test`")):
        if which(name):
            yield OK, name, which(name), None
        else:
            yield WARNING, name, f"not found; it is needed {why}", "install it with this system's package manager"


def _profile():
    path = Path(os.environ.get("DBT_PROFILES_DIR") or ROOT / "profiles") / "profiles.yml"
    if not path.is_file():
        is_set = os.environ.get("DBT_PROFILES_DIR")
        mend = "unset DBT_PROFILES_DIR, or name a folder that has one" if is_set else "check it out again"
        yield MISSING, "dbt profile", f"there is no {path}", mend
        return
    yield OK, "dbt profile", str(path), None
    link = ROOT / "profiles.yml"
    if not link.is_file():
        yield NOTE, "dbt profile", f"{link} does not work here", "set DBT_PROFILES_DIR=profiles for plain `dbt build`"


def _warehouse():
    path = warehouse_path()
    if not path.exists():
        yield WARNING, "warehouse", f"there is none at {path}", "run `make run`"
        return
    try:
        with connect(path) as warehouse:
            tables = warehouse.execute(
                "select table_schema, table_name from information_schema.tables "
                "where table_catalog = current_database()"
            ).fetchall()
    except UserError as error:
        yield WARNING if "in use by" in str(error) else MISSING, "warehouse", str(error), None
        return
    size = path.stat().st_size / (1 << 20)
    missing = sorted(public_tables() - {f"{schema}.{name}" for schema, name in tables})
    if missing and not any(schema in NEEDED_SCHEMAS for schema, _ in tables):
        yield WARNING, "warehouse", f"{path} ({size:.0f} MiB) has no marts yet", "run `bais build`"
    elif missing:
        said = f"{path} is of another version: it lacks {_some(missing)}"
        yield WARNING, "warehouse", said, "run `bais build`"
    else:
        yield OK, "warehouse", f"{path} ({size:.0f} MiB), {len(public_tables())} public tables", None
    if not os.access(path, os.W_OK):
        yield WARNING, "warehouse", f"{path} cannot be written", "change its permissions, or set BAIS_WAREHOUSE"


def public_tables():
    """Return the tables that a warehouse of this version has, by the files of their models.

    Returns
    -------
    set of str
        `schema.table`.
    """
    folders = {"marts": ("marts", "claims"), "inference": ("inference",)}
    return {
        f"{schema}.{path.stem}"
        for schema, names in folders.items()
        for name in names
        for path in (ROOT / "models" / name).iterdir()
        if path.suffix in (".sql", ".py")
    }


def _disk():
    import shutil

    folder = next(folder for folder in warehouse_path().parents if folder.exists())
    free = shutil.disk_usage(folder).free
    said = f"{free / (1 << 30):.1f} GiB free at {folder}"
    if free < LEAST_FREE_BYTES:
        yield WARNING, "disk", said, f"make room: a build of a large archive takes {LEAST_FREE_BYTES >> 30} GiB"
    else:
        yield OK, "disk", said, None
    if not os.access(folder, os.W_OK):
        yield MISSING, "disk", f"{folder} cannot be written", "change its permissions, or set BAIS_WAREHOUSE"


def _spool():
    from ingest.spool import read_state, spool_folder

    folder = spool_folder("any").parent
    if not folder.exists():
        above = next(parent for parent in folder.parents if parent.exists())
        can_write = os.access(above, os.W_OK)
    else:
        can_write = os.access(folder, os.W_OK)
    if not can_write:
        yield MISSING, "spool", f"{folder} cannot be written", "paid answers go there: change its permissions"
        return
    studies = sorted({path.parent.name for path in folder.glob("*/*.jsonl")})
    yield OK, "spool", f"{folder}, {len(studies)} stud{'y' if len(studies) == 1 else 'ies'} collected", None
    for study in studies:
        try:
            states = [read_state(path) for path in sorted((folder / study).glob("*.jsonl"))]
        except OSError as error:
            yield WARNING, "spool", f"{study} cannot be read: {error.strerror}", "change its permissions"
            continue
        n_open, n_junk = sum(len(state.open_calls) for state in states), sum(len(state.junk) for state in states)
        if n_open:
            said = f"{study}: {n_open} trial{'' if n_open == 1 else 's'} begun and not finished"
            yield NOTE, "spool", said, f"`bais collect {study}` goes on where it stopped"
        if n_junk:
            yield WARNING, "spool", f"{study}: {n_junk} lines are no record", "they are kept, and count for nothing"


def _keys():
    is_set = [name for name in KEYS if os.environ.get(name)]
    for name in KEYS:
        if name in is_set:
            yield OK, "key", f"{name} is set", None
    if not is_set:
        yield (
            NOTE, "key", "no key is set, so that only simulated respondents, Codex and recorded answers are at hand",
            f"set {' or '.join(KEYS[:2])} to ask LLMs",
        )  # fmt: skip


def _codex():
    from shutil import which

    from ingest.providers.codex import codex_command

    try:
        yield OK, "codex", codex_command(), None
    except UserError:
        has_npm = which("npm") and which("node")
        mend = f"run `npm install` in {ROOT}" if has_npm else "install node and npm, then run `npm install`"
        yield NOTE, "codex", "not here; `bais run` without --model would ask it", mend


def _optional():
    import subprocess
    from shutil import which

    rscript = which("Rscript")
    if not rscript:
        yield NOTE, "R", "not here; only `make oracle` (mixed models against lme4) needs it", "install R and lme4"
    else:
        done = subprocess.run([rscript, "-e", "library(lme4)"], capture_output=True, timeout=60)
        if done.returncode:
            yield NOTE, "R", "without lme4, which only `make oracle` needs", "in R: install.packages('lme4')"
        else:
            yield OK, "R", f"{rscript}, with lme4", None
    browser = next(filter(None, map(which, BROWSERS)), None)
    if browser:
        yield OK, "browser", browser, None
    else:
        yield NOTE, "browser", "no Chromium; only the tests of the report need it", "install chromium"


def _archive():
    given = os.environ.get("BAIS_SHARED")
    folder = Path(given or ROOT.parent / "shared").absolute() / "data" / "bais_recorded"
    if folder.is_dir():
        yield OK, "archive", str(folder), None
    else:
        yield NOTE, "archive", "the recorded archive is not here", "fetch it with `bais import --download`"


LOOKS = (
    _python, _packages, _programs, _profile, _warehouse, _disk, _spool, _keys, _codex, _optional, _archive,
)  # fmt: skip


# bais docs


def docs(options):
    """Build dbt's static documentation from the warehouse, and say where it is."""
    import shutil
    import subprocess
    import tempfile

    from bais.warehouse import marts as _marts

    with _marts():
        pass
    out = (options.out or warehouse_path().parent / "docs").absolute()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {printable(out)} cannot be written: {error.strerror}") from None
    with tempfile.TemporaryDirectory(prefix="bais-docs-") as target:
        environment = {
            "DBT_PROFILES_DIR": str(ROOT / "profiles"), **os.environ, "BAIS_WAREHOUSE": str(warehouse_path()),
            "DBT_TARGET_PATH": target, "DBT_LOG_PATH": target,
        }  # fmt: skip
        run_dbt = "from dbt.cli.main import cli; cli(prog_name='dbt')"
        command = [sys.executable, "-c", run_dbt, "--quiet", "docs", "generate", "--static"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        page = Path(target) / "static_index.html"
        if done.returncode or not page.exists():
            said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise UserError(f"dbt could not write its documentation: {printable((said or ['no reason given'])[-1])}", 1)
        try:
            shutil.copyfile(page, out / page.name)
        except OSError as error:
            raise UserError(f"{printable(out / page.name)} cannot be written: {error.strerror}") from None
    print(printable(out / page.name))
    return 0


# bais completion


def completion(options):
    """Print a script that completes `bais`: its commands, their options, and the choices of these."""
    from bais_old import _parser

    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print(write(_words(_parser())), end="")
    return 0


def _words(parser):
    """Return what each command takes: name to its summary, its options (with choices) and the choices of arguments."""
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {action.dest: action.help for action in subparsers._choices_actions}
    commands = {}
    for name, command in subparsers.choices.items():
        taken = [action for action in command._actions if action.help != argparse.SUPPRESS]
        commands[name] = {
            "summary": summaries[name],
            "options": {option: of for action in taken for option, of in _options(command, action)},
            "choices": [str(c) for action in taken if not action.option_strings for c in action.choices or ()],
        }
    return commands


def _options(command, action):
    """Yield each name of an option with its help, its choices, and whether it takes a value."""
    said = command._get_formatter()._expand_help(action) if action.help else ""
    for option in action.option_strings:
        yield option, (said, [str(choice) for choice in action.choices or ()], action.nargs != 0)


def _bash(commands):
    cases = []
    for name, command in commands.items():
        chosen = [
            f"        {name}:{option}) words='{' '.join(choices)}' ;;"
            for option, (_, choices, _) in command["options"].items()
            if choices
        ]
        files = [f"{name}:{o}" for o, (_, choices, takes) in command["options"].items() if takes and not choices]
        if files:
            chosen.append(f'        {"|".join(files)}) COMPREPLY=($(compgen -f -- "$word")); return ;;')
        chosen.append(f"        {name}:*) words='{' '.join([*command['options'], *command['choices']])}' ;;")
        cases += chosen
    return f"""# Completion of `bais` in bash: eval "$(bais completion bash)"
_bais() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '{" ".join([*commands, "--help", "--version"])}' -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}:$before" in
{chr(10).join(cases)}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if ((${{#COMPREPLY[@]}} == 0)) && [[ $word != -* ]]; then
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _bais bais
"""


def _zsh(commands):
    named = "\n".join("        " + _quoted(f"{name}:{_plain(of['summary'])}") for name, of in commands.items())
    cases = []
    for name, command in commands.items():
        specs = []
        for option, (said, choices, takes_value) in command["options"].items():
            takes = f":value:({' '.join(choices)})" if choices else ":value:_files" if takes_value else ""
            specs.append(_quoted(f"{option}[{_plain(said)}]{takes}"))
        rest = f"*:value:({' '.join(command['choices'])})" if command["choices"] else "*:file:_files"
        cases.append(f"        {name}) _arguments {' '.join([*specs, _quoted(rest)])} ;;")
    return f"""#compdef bais
# Completion of `bais` in zsh: source <(bais completion zsh)
_bais() {{
    local -a commands
    commands=(
{named}
    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
{chr(10).join(cases)}
    esac
}}
compdef _bais bais
"""


def _fish(commands):
    lines = ["# Completion of `bais` in fish: bais completion fish | source"]
    for name, command in commands.items():
        lines.append(f"complete -c bais -n __fish_use_subcommand -f -a {name} -d {_quoted(_plain(command['summary']))}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option, (said, choices, takes_value) in command["options"].items():
            dashes = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            takes = f" -x -a {_quoted(' '.join(choices))}" if choices else " -r" if takes_value else ""
            lines.append(f"complete -c bais {seen} {dashes}{takes} -d {_quoted(_plain(said))}")
        if command["choices"]:
            lines.append(f"complete -c bais {seen} -f -a {_quoted(' '.join(command['choices']))}")
    return "\n".join(lines) + "\n"


def _plain(text):
    """Return a help text without what a shell's own notation would read."""
    return "".join(" " if c in "[]:`\\\n" else c for c in text if c != "'")


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
