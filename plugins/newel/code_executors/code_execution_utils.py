"""The input and the output of an execution, and how both look in a conversation's contents."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from newel.code_executors.base_code_executor import CodeExecutionFile as CodeExecutionFile
from newel.code_executors.base_code_executor import CodeExecutionInput as CodeExecutionInput
from newel.code_executors.base_code_executor import CodeExecutionResult as CodeExecutionResult
from newel_types import Content, Language, Outcome, Part

File = CodeExecutionFile
Delimiters = tuple[str, str]


def file_bytes(file: CodeExecutionFile) -> bytes:
    """The data of a file: its text content is base64."""
    return file.content if isinstance(file.content, bytes) else base64.b64decode(file.content)


class CodeExecutionUtils:
    """Finds code in contents, and turns code and results into parts and text."""

    @staticmethod
    def get_encoded_file_content(data: bytes) -> bytes:
        """`data` as base64; data that already is base64 is unchanged."""
        try:
            if base64.b64encode(base64.b64decode(data)) == data:
                return data
        except binascii.Error:
            pass
        return base64.b64encode(data)

    @staticmethod
    def extract_code_and_truncate_content(content: Content | None, delimiters: Sequence[Delimiters]) -> str | None:
        """The first code in `content`, whose parts then end with that code; None, and no change, if there is none.

        Code is an executable part that no result follows, else the first delimited block of the text. Thoughts are not
        read for code, and stay.
        """
        parts = content.parts if content is not None else None
        if content is None or not parts:
            return None
        for index, part in enumerate(parts):
            ran = index + 1 < len(parts) and parts[index + 1].code_execution_result is not None
            if part.executable_code is not None and not part.thought and not ran:
                content.parts = parts[: index + 1]
                return part.executable_code.code
        texts = [part for part in parts if part.text and not part.thought]
        block = _first_block("\n".join(part.text or "" for part in texts), delimiters)
        if block is None:
            return None
        before, code = block
        content.parts = [part for part in parts if part.thought]
        content.parts += [texts[0].model_copy(update={"text": before})] if before else []
        content.parts.append(CodeExecutionUtils.build_executable_code_part(code))
        return code

    @staticmethod
    def build_executable_code_part(code: str) -> Part:
        """A part that holds `code`."""
        return Part.from_executable_code(code=code, language=Language.PYTHON)

    @staticmethod
    def build_code_execution_result_part(result: CodeExecutionResult) -> Part:
        """A part with the result of an execution: its error, else its output and the files that it wrote."""
        if result.stderr:
            return Part.from_code_execution_result(outcome=Outcome.OUTCOME_FAILED, output=result.stderr)
        lines = []
        if result.stdout or not result.output_files:
            lines.append(f"Output of the code:\n{result.stdout}\n")
        if result.output_files:
            lines.append("Saved as artifacts: " + ", ".join(f"`{file.name}`" for file in result.output_files))
        return Part.from_code_execution_result(outcome=Outcome.OUTCOME_OK, output="\n".join(lines))

    @staticmethod
    def convert_code_execution_parts(content: Content, code: Delimiters, result: Delimiters) -> None:
        """Turn code at the end of `content`, or a result that is all of it, into delimited text.

        Code with its result in one content is the model's own report and stays.
        """
        parts = content.parts
        if not parts:
            return
        last = parts[-1]
        if last.executable_code is not None:
            content.parts = [*parts[:-1], Part(text=f"{code[0]}{last.executable_code.code or ''}{code[1]}")]
        elif len(parts) == 1 and last.code_execution_result is not None:
            output = last.code_execution_result.output
            content.parts = [Part(text="" if output is None else f"{result[0]}{output}{result[1]}")]
            content.role = "user"


def _first_block(text: str, delimiters: Sequence[Delimiters]) -> tuple[str, str] | None:
    """The text before the first block and the code in it; any end closes any beginning."""
    if not delimiters:
        return None
    begin = "|".join(re.escape(pair[0]) for pair in delimiters)
    end = "|".join(re.escape(pair[1]) for pair in delimiters)
    opened = re.search(begin, text)
    closed = re.compile(end).search(text, opened.end()) if opened is not None else None
    if opened is None or closed is None or opened.end() == closed.start():
        return None
    return text[: opened.start()], text[opened.end() : closed.start()]
