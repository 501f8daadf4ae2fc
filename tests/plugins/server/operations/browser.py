"""A browser: headless Chromium, driven by its own protocol over a WebSocket."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Nothing but this machine can be reached: a name that is asked for is not found.
_ALONE = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def chromium() -> str | None:
    """The program, if there is one on the path."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page. Notes what it asks for, and what it complains of."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._count = 0
        #: The addresses that it has asked for.
        self.requests: list[str] = []
        #: Errors and warnings of its console, and exceptions that nobody has caught.
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._count:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message.get("method", ""), message.get("params", {}))

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script: str, seconds: float = 60) -> Any:
        """Wait until an expression has a value that counts as true."""
        end = time.monotonic() + seconds
        while not (value := self.run(f"document.body && {script}")):
            assert time.monotonic() < end, (script, self.errors, self.run("document.body.innerText"))
            time.sleep(0.1)
        return value

    def type(self, text: str) -> None:
        """Type into what has the focus, and press Enter."""
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13
            )

    def picture(self, path: Path) -> None:
        """Keep what it looks like, for a person."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _note(self, method: str, given: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(given["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "assert"):
            self.errors.append(json.dumps(given["args"])[:500])
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")


@contextmanager
def page(folder: Path, *, size: str = "1400,900") -> Iterator[Page]:
    """A page of a browser of its own, with its files in `folder`."""
    program = chromium()
    assert program is not None
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--disable-extensions", "--disable-background-networking", f"--window-size={size}"]
    command += [f"--host-resolver-rules={_ALONE}", "--no-proxy-server"]
    command += ["--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with connect(_address(folder, process.poll), max_size=None, proxy=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            process.wait(30)


def _address(folder: Path, poll: Callable[[], int | None]) -> str:
    """Where the first page is driven."""
    end = time.monotonic() + 60
    port = folder / "DevToolsActivePort"
    while time.monotonic() < end and poll() is None:
        if port.is_file() and (lines := port.read_text().split()):
            for one in httpx.get(f"http://127.0.0.1:{lines[0]}/json", trust_env=False, timeout=30).json():
                if one["type"] == "page":
                    return str(one["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise AssertionError("the browser did not start")
