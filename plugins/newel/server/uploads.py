"""Uploads: the files of a form (`multipart/form-data`)."""

from __future__ import annotations

from newel.server.refusals import Refusal
from newel_types import deferred

# The parser of forms is large, and few servers need it.
_message_from_bytes, _http = deferred("email", "message_from_bytes"), deferred("email.policy", "HTTP")

#: The most bytes and files of a form.
_MOST_BYTES, _MOST_FILES = 2_000_000, 100


def uploaded(media_type: str, body: bytes, field: str) -> dict[str, bytes]:
    """The files in the form's field, by their names; a Refusal for what is not such a form."""
    if not media_type.lower().startswith("multipart/form-data"):
        raise Refusal(415, "the body must be a form: send it with `Content-Type: multipart/form-data`")
    if len(body) > _MOST_BYTES:
        raise Refusal(413, f"the form is larger than {_MOST_BYTES} bytes")
    head = f"Content-Type: {media_type}\r\n\r\n".encode("latin-1", "replace")
    form = _message_from_bytes()(head + body, policy=_http())
    if form.defects or not form.is_multipart():
        raise Refusal(422, "the form cannot be read")
    found: dict[str, bytes] = {}
    for part in form.iter_parts():
        if part.get_param("name", header="content-disposition") != field:
            continue
        name = part.get_filename()
        data = part.get_payload(decode=True)
        if not name or not isinstance(data, bytes) or name in found:
            raise Refusal(422, f"each file in {field!r} needs a name of its own")
        found[name] = data
    if not found:
        raise Refusal(422, f"the form has no file in {field!r}")
    if len(found) > _MOST_FILES:
        raise Refusal(413, f"the form has more than {_MOST_FILES} files")
    return found
