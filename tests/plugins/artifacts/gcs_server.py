"""A server of Cloud Storage's JSON API in a process of its own: it prints its port, and ends with its standard input.

What the artifacts need of it, with preconditions on generations: buckets, uploads whole and in parts, ranges, listings.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import google_crc32c

_OBJECTS = re.compile(r"/(?:upload/|download/)?storage/v1/b/([^/]+)/o(?:/([^/]+))?")
#: A listing may have less than what was asked for.
PAGE = 50
_lock = threading.Lock()
_counter = itertools.count(1)
#: Bucket -> name -> the object.
_buckets: dict[str, dict[str, dict[str, Any]]] = {}
#: Id -> an upload in parts.
_uploads: dict[str, dict[str, Any]] = {}


class Refused(Exception):
    """An answer with a status that is no success."""


def crc32c(data: bytes) -> str:
    return base64.b64encode(google_crc32c.Checksum(data).digest()).decode()


def store(bucket: str, about: dict[str, Any], data: bytes, query: dict[str, str]) -> dict[str, Any]:
    """Write an object where its precondition holds; looked at and written in one step."""
    objects = objects_of(bucket)
    if "ifGenerationMatch" in query:
        present = objects.get(about["name"], {"generation": 0})["generation"]
        if present != int(query["ifGenerationMatch"]):
            raise Refused(412)
    if about.get("crc32c", crc32c(data)) != crc32c(data):
        raise Refused(400)
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    objects[about["name"]] = {
        **about,
        "bucket": bucket,
        "generation": next(_counter),
        "data": data,
        "crc32c": crc32c(data),
        "updated": now,
    }
    return shown(objects[about["name"]])


def shown(one: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in one.items() if key != "data"},
        "kind": "storage#object",
        "size": str(len(one["data"])),
        "generation": str(one["generation"]),
    }


def objects_of(bucket: str) -> dict[str, dict[str, Any]]:
    if bucket not in _buckets:
        raise Refused(404)
    return _buckets[bucket]


def listing(bucket: str, query: dict[str, str]) -> dict[str, Any]:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
    most, after = min(int(query.get("maxResults", PAGE)), PAGE), query.get("pageToken", "")
    items: list[dict[str, Any]] = []
    prefixes: list[str] = []
    for name in sorted(objects_of(bucket)):
        if not name.startswith(prefix) or (after and name <= after) or (prefixes and name.startswith(prefixes[-1])):
            continue
        if len(items) + len(prefixes) == most:
            last = [items[-1]["name"]] if items else []
            return {
                "items": items,
                "prefixes": prefixes,
                "nextPageToken": max([*last, *(f"{one}\U0010ffff" for one in prefixes)]),
            }
        rest = name[len(prefix) :]
        if delimiter is not None and delimiter in rest:
            prefixes.append(prefix + rest.partition(delimiter)[0] + delimiter)
        else:
            items.append(shown(objects_of(bucket)[name]))
    return {"items": items, "prefixes": prefixes}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: Any) -> None:
        """Nothing on stderr."""

    def handle_one(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        try:
            with _lock:
                self.serve(url.path, query, body)
        except Refused as refused:
            self.answer(int(str(refused)), {"error": {"code": int(str(refused)), "message": "refused"}})

    do_GET = do_PUT = do_POST = do_DELETE = handle_one

    def serve(self, path: str, query: dict[str, str], body: bytes) -> None:
        if path == "/storage/v1/b":
            _buckets.setdefault(json.loads(body)["name"], {})
            return self.answer(200, {"kind": "storage#bucket", **json.loads(body)})
        found = _OBJECTS.fullmatch(path)
        if found is None:
            raise Refused(404)
        bucket, name = found[1], unquote(found[2] or "")
        if path.startswith("/upload/"):
            return self.upload(bucket, query, body)
        if not name:
            return self.answer(200, listing(bucket, query))
        if name not in objects_of(bucket):
            raise Refused(404)
        if self.command == "DELETE":
            del objects_of(bucket)[name]
            return self.answer(204, b"")
        return (
            self.download(objects_of(bucket)[name])
            if query.get("alt") == "media"
            else self.answer(200, shown(objects_of(bucket)[name]))
        )

    def download(self, one: dict[str, Any]) -> None:
        whole: bytes = one["data"]
        headers = {
            "Content-Type": one.get("contentType", ""),
            "X-Goog-Hash": f"crc32c={one['crc32c']}",
            "X-Goog-Generation": str(one["generation"]),
        }
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if wanted is None:
            return self.answer(200, whole, headers)
        start, end = int(wanted[1]), min(int(wanted[2]), len(whole) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(whole)}"
        self.answer(206, whole[start : end + 1], headers)

    def upload(self, bucket: str, query: dict[str, str], body: bytes) -> None:
        objects_of(bucket)
        if query["uploadType"] == "multipart":
            boundary = re.search(r'boundary="?([^";]+)', self.headers["Content-Type"])
            assert boundary is not None
            _, about, data, _ = body.split(b"--" + boundary[1].encode(), 3)
            content = data.partition(b"\r\n\r\n")
            kind = re.search(rb"content-type: ([^\r]+)", content[0], re.IGNORECASE)
            described = {"contentType": kind[1].decode() if kind else "", **json.loads(about.partition(b"\r\n\r\n")[2])}
            return self.answer(200, store(bucket, described, content[2].removesuffix(b"\r\n"), query))
        if "upload_id" not in query:
            id_ = f"{next(_counter)}"
            about = {"contentType": self.headers.get("X-Upload-Content-Type", ""), **json.loads(body)}
            _uploads[id_] = {"about": about, "data": b"", "query": query, "done": None}
            place = f"http://{self.headers['Host']}{urlsplit(self.path).path}?uploadType=resumable&upload_id={id_}"
            return self.answer(200, b"", {"Location": place})
        return self.part(bucket, _uploads[query["upload_id"]], body)

    def part(self, bucket: str, one: dict[str, Any], body: bytes) -> None:
        """Take a part; one that was there already changes nothing, as it is with Google."""
        range_ = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", self.headers["Content-Range"])
        assert range_ is not None
        if range_[1] is not None and int(range_[1]) == len(one["data"]):
            one["data"] += body
        if one["done"] is None and range_[2] == str(len(one["data"])):
            one["done"] = store(bucket, one["about"], one["data"], one["query"])
        if one["done"] is not None:
            return self.answer(200, one["done"])
        self.answer(308, b"", {"Range": f"bytes=0-{len(one['data']) - 1}"} if one["data"] else {})

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
