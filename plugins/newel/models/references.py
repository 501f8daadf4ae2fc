"""References: data in an instruction, which is sent separately."""

from __future__ import annotations

from newel_kernel import LlmRequest
from newel_types import Content, Part


def append_content(request: LlmRequest, instruction: Content) -> list[Content]:
    """Add the text of `instruction` to the system instruction, and return the contents that hold its data.

    Each data part becomes a user content to which the instruction refers; these are appended to the
    request's contents.
    """
    texts: list[str] = []
    references: list[Content] = []
    for part in instruction.parts or ():
        if part.text:
            texts.append(part.text)
        elif part.inline_data is not None or part.file_data is not None:
            reference, described = _reference(part, len(references))
            texts.append(f"[Reference to {described}: {reference}]")
            words = Part(text=f"Referenced {described}: {reference}")
            references.append(Content(role="user", parts=[words, part.model_copy(deep=True)]))
    request.append_instructions(["\n\n".join(texts)])
    request.contents.extend(references)
    return references


def _reference(part: Part, index: int) -> tuple[str, str]:
    if part.inline_data is not None:
        blob = part.inline_data
        return f"inline_data_{index}", f"inline data {blob.display_name or ''} ({blob.mime_type})".replace("  ", " ")
    file = part.file_data
    return f"file_data_{index}", f"file data ({file.file_uri if file else ''})"
