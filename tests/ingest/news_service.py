"""A news service on the loopback that answers as NewsAPI does, with pages that the test sets."""

import contextlib
import http.server
import json
import threading
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit


def article(name, at="2026-01-01T08:00:00Z", host="www.npr.org", **changes):
    """An article as NewsAPI gives it."""
    return {
        "source": {"id": None, "name": "NPR"},
        "author": "A. Writer",
        "title": f"The title of {name}",
        "description": f"The senate has voted for {name}.",
        "url": f"https://{host}/2026/{name}",
        "urlToImage": None,
        "publishedAt": at,
        "content": "The senate... [+2000 chars]",
    } | changes


def ok(*articles, n_in_all=None):
    """A page of articles."""
    n_in_all = len(articles) if n_in_all is None else n_in_all
    return 200, {}, {"status": "ok", "totalResults": n_in_all, "articles": list(articles)}


def error(code, status=400, message="something is wrong", headers=None):
    """An error in NewsAPI's form."""
    return status, headers or {}, {"status": "error", "code": code, "message": message}


@contextlib.contextmanager
def served(*answers):
    """Serve the answers one after the other, the last for ever; what was asked is in `asked`, the keys in `keys`."""
    state = SimpleNamespace(answers=list(answers), asked=[], keys=[])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked = {name: value for name, (value,) in parse_qs(urlsplit(self.path).query).items()}
            state.asked.append(asked)
            state.keys.append(self.headers.get("X-Api-Key"))
            answer = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            status, headers, body = answer(asked) if callable(answer) else answer
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json", "Content-Length": len(sent)} | headers).items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{running.server_port}/v2/everything"
        try:
            yield state
        finally:
            running.shutdown()
            thread.join()
