"""Read YAML that people write: what a loader would overlook is refused, with its file and line."""

import yaml

from ingest.warehouse import UserError, printable

# What people mostly did where YAML's reader says this.
HINTS = {
    "<block end>": " (is a line here, or just above, indented wrongly?)",
    "mapping values are not allowed": " (does a text with a colon lack its quotes, or is a line indented wrongly?)",
    "'\\t' that cannot start": " (indent with spaces, not with tabs)",
    "end of stream": " (is a quote not closed?)",
    "expected ',' or": " (is a bracket not closed?)",
    "could not find expected ':'": " (does a key lack its colon?)",
}


def read_yaml(text: str, path: str) -> tuple[yaml.Node | None, object]:
    """Return the tree of a YAML text and what it says; a key that stands there twice is refused."""
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        _refuse_duplicates(tree, path, set())
        return tree, yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # a date that does not exist is a ValueError
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        hint = next((hint for part, hint in HINTS.items() if part in problem), "")
        raise UserError(printable(f"{path}{where}: not YAML: {problem}{hint}")) from None
    except RecursionError:
        raise UserError(f"{path}: not YAML that can be read: it is nested too deeply") from None


def line_of(node: yaml.Node, location: tuple) -> int:
    """Follow a location into the YAML tree as far as it goes, and return the line there."""
    line = node.start_mark.line + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if key.value == str(part)]
            if not pairs:
                continue
            line, node = pairs[0][0].start_mark.line + 1, pairs[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _refuse_duplicates(node, path, node_ids):
    if not isinstance(node, yaml.CollectionNode) or id(node) in node_ids:  # an alias may stand within what it names
        return
    node_ids.add(id(node))
    keys = set()
    for item in node.value:
        if isinstance(node, yaml.MappingNode):
            key, item = item
            where = f"{path}:{key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise UserError(f"{where}: a key should be a word")
            if key.value in keys:
                raise UserError(f"{where}: the key {printable(key.value)} stands there twice")
            keys.add(key.value)
        _refuse_duplicates(item, path, node_ids)
