"""Rules that all artifact stores share: which names and parts they take, and what counts as no artifact."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from newel_kernel import ConfigurationError, Json
from newel_types import Blob, Part, coerce

USER_SCOPE = "user:"
_MOST_CHARACTERS = 1024
#: The type of an empty file that stands for no artifact, as google-adk writes it.
_WITHDRAWN = "application/octet-stream"
#: What `str.strip` removes and is not a control character.
_BLANK = r"[ \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
#: The names that `scope_of` takes, as a regular expression of JSON Schema (ECMA-262).
NAME_PATTERN = (
    r"^(?:user:|(?!user:))(?![\s\S]*[\x00-\x1f])(?![A-Za-z]:[/\\])(?!(?:[^/\\]*[/\\])*\.{0,2}(?:[/\\]|$))"
    rf"(?!{_BLANK})[\s\S]{{1,{_MOST_CHARACTERS}}}(?<!{_BLANK})$"
)


def scope_of(filename: str, session_id: str | None) -> str | None:
    """The session that an artifact belongs to; None: it belongs to the user. Refuses a name that no store should see.

    A name may have folders. Every store refuses a name that would lead out of its folder in a store of files, or that
    names no file.
    """
    name = filename.removeprefix(USER_SCOPE)
    segments = re.split(r"[/\\]", name)
    problem = ""
    if not name or name != name.strip():
        problem = "it is empty, or starts or ends with blanks"
    elif any(ord(character) < 32 for character in name):
        problem = "it holds control characters"
    elif _half(name):
        problem = "it holds half a character (a lone surrogate)"
    elif len(name) > _MOST_CHARACTERS:
        problem = f"it has more than {_MOST_CHARACTERS} characters"
    elif not segments[0] or re.match(r"[A-Za-z]:[/\\]", name):
        problem = "it is an absolute path"
    elif any(segment in ("", ".", "..") for segment in segments):
        problem = "it has empty, '.' or '..' segments"
    if problem:
        raise ConfigurationError(f"the artifact name {filename[:200]!r} cannot be used: {problem}")
    if filename.startswith(USER_SCOPE):
        return None
    if session_id is None:
        raise ConfigurationError(
            f"the artifact {filename!r} belongs to a session: pass session_id, or name it {USER_SCOPE + filename!r}"
        )
    return session_id


def named(name: str) -> str:
    """A part of a path or key for any id or file name: readable, and unique even if case is ignored."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:60]
    return f"{readable}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def _half(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def as_json(metadata: object) -> str:
    """`metadata` as JSON that can be read back; a ConfigurationError if it is not JSON."""
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"an artifact's metadata must be JSON: {error}") from None
    if _half(text):
        raise ConfigurationError("an artifact's metadata, names and texts hold half a character (a lone surrogate)")
    return text


def as_metadata(custom: Mapping[str, object] | None) -> Json:
    """The custom metadata of a version as every store returns it."""
    metadata: Json = json.loads(as_json(dict(custom or {})))
    return metadata


def as_part(artifact: object) -> Part:
    """newel's Part with data, text or a file; `artifact` may be a dict or google-genai's Part."""
    part: Part = coerce(Part, artifact).model_copy(deep=True)
    if part.inline_data is None and part.text is None and part.file_data is None:
        raise ConfigurationError("an artifact is a Part with inline_data, text or file_data; this one has none of them")
    if part.text is not None and _half(part.text):
        raise ConfigurationError("the text of an artifact holds half a character (a lone surrogate); replace it")
    return part


def mime_type(part: Part) -> str | None:
    """The MIME type of a part's content."""
    if part.inline_data is not None:
        return part.inline_data.mime_type
    if part.file_data is not None:
        return part.file_data.mime_type
    return "text/plain"


def withdrawn() -> Part:
    """What a rewind saves for an artifact that did not exist: loading it gives None."""
    return Part(inline_data=Blob(mime_type=_WITHDRAWN, data=b""))


def is_withdrawn(part: Part) -> bool:
    """Whether a part stands for no artifact. An empty text and an empty file of another type are artifacts."""
    blob = part.inline_data
    if blob is not None:
        return not blob.data and blob.mime_type == _WITHDRAWN
    return part.text is None and part.file_data is None
