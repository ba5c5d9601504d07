"""`bais ui`: the pages on 127.0.0.1, with every answer and every claim behind them."""

import errno
import os
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from urllib.parse import parse_qsl

import click

from bais.served import Refused, Served, refuse_others
from bais.terminal import working
from ingest.warehouse import UserError, printable

HOST = "127.0.0.1"
IDLE_S = 30  # after which a connection that says nothing is closed
MOST_PARAMETERS = 20
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
OURS = ("same-origin", "none")  # what a browser says of a request that no other site has made
WITHOUT_TOKEN = "open the address that `bais ui` printed: it has the token that lets this browser in"


@click.command()
@click.option("--port", type=click.IntRange(1024, 65535), metavar="N", help="the port (default: a free one)")
@click.option("--no-open", is_flag=True, help="open no browser")
def ui(port: int | None, no_open: bool) -> None:
    """Serve the pages until Ctrl-C."""
    served = Served()
    with working("making the pages"):
        served.prepare()
    with _started(served, port) as server:
        try:
            print(f"bais ui: {server.address}", flush=True)
            print("Ctrl-C stops it.", flush=True)
            if not no_open:
                import webbrowser

                # in a thread of its own, since some wait until the browser is closed
                threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nstopped" if sys.stdout.isatty() else "stopped")
        finally:
            served.close()


def _started(served, port):
    try:
        return Server(served, port or 0)
    except OSError as error:
        why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be had ({error.strerror})"
        raise UserError(f"port {port or 0} {why}: leave --port out, and bais takes a free one") from None


class Server(ThreadingHTTPServer):
    """Serve what is in a warehouse to whoever has the token.

    Parameters
    ----------
    served : Served
    port : int, optional
        0 for a free one.
    """

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = os.name != "nt"  # where it would let another program have the same port

    def __init__(self, served: Served, port: int = 0):
        from analysis.report.site import live_policy

        self.served, self.policy = served, live_policy()
        self.token, self.key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        super().__init__((HOST, port), Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.cookie = f"bais-{self.server_port}"  # browsers send cookies to all ports of a host

    @property
    def address(self) -> str:
        """What a browser is opened at."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    def server_bind(self) -> None:
        """Take the port without asking a name server what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request, client_address) -> None:
        """Say nothing: whoever has gone gets no answer, and whoever has not got one."""


class Handler(BaseHTTPRequestHandler):
    """Answer one request: where it comes from and what it may ask is looked at before anything is read."""

    server_version, sys_version, timeout = "bais", "", IDLE_S

    def do_GET(self) -> None:
        """Answer with a page, with JSON, or with why not in one sentence."""
        try:
            status, kind, body, more = self._answer()
        except Refused as refused:
            self._refuse(refused.status, refused)
        except UserError as error:
            self._refuse(503, error)
        except Exception as error:
            self._refuse(500, f"this could not be answered: {type(error).__name__}: {error}")
        else:
            self._send(status, kind, body, **more)

    do_HEAD = do_GET

    def _answer(self):
        self._refuse_foreign()
        path, _, query = self.path.partition("?")
        parameters = _parameters(query)
        if path == "/" and "token" in parameters:
            return self._let_in(parameters)
        if not any(secrets.compare_digest(value, self.server.key.encode()) for value in self._cookies()):
            raise Refused(403, WITHOUT_TOKEN)
        if route := self.server.served.route(path):
            return 200, "application/json", self.server.served.answer(route, parameters), {}
        page = self.server.served.page(path)
        if page is None:
            raise Refused(404, "there is no such page")
        refuse_others(parameters, ())
        return 200, "text/html", page, {}

    def _refuse_foreign(self):
        """Refuse what another name for this machine leads to, or another site asks for."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise Refused(403, "another host: bais answers at the address that it printed, and no other")
        if any(site not in OURS for site in self.headers.get_all("Sec-Fetch-Site", [])):
            raise Refused(403, "another site asks: type the address that `bais ui` printed, or copy it")

    def _let_in(self, parameters):
        """Exchange the token for a cookie, so that it is in no address that goes on."""
        if not secrets.compare_digest(parameters["token"].encode(), self.server.token.encode()):
            raise Refused(403, WITHOUT_TOKEN)
        refuse_others(parameters, ("token",))
        cookie = f"{self.server.cookie}={self.server.key}; Path=/; HttpOnly; SameSite=Strict"
        return 303, "text/plain", b"", {"Location": "/", "Set-Cookie": cookie}

    def _cookies(self):
        """Return what a browser says that it was given at this port."""
        pairs = [pair.strip().partition("=") for line in self.headers.get_all("Cookie", []) for pair in line.split(";")]
        return [value.encode() for name, _, value in pairs if name == self.server.cookie]

    def _refuse(self, status, why, **more):
        self._send(status, "text/plain", f"{printable(why)}\n".encode(), **more)

    def _send(self, status, kind, body, **more):
        self.send_response(status)
        own = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        for name, value in (HEADERS | {"Content-Security-Policy": self.server.policy} | own | more).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, or another one than to read."""
        if code == 501:
            self._refuse(405, "bais ui is only read: GET", Allow="GET, HEAD")
        else:
            self._refuse(code, message or "no request that bais understands")

    def log_message(self, *_) -> None:
        """Keep no log."""


def _parameters(query):
    if not query:
        return {}
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except ValueError:
        raise Refused(400, "what stands after the question mark is not understood") from None
    if len(dict(pairs)) < len(pairs):
        raise Refused(400, "a parameter is there twice")
    return dict(pairs)
