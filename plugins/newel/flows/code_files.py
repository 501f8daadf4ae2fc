"""Data files of a conversation: tables that the user sent become files that the code reads, each explored once."""

from __future__ import annotations

import base64
import re

from newel.code_executors.base_code_executor import CodeExecutionFile
from newel.code_executors.code_execution_utils import CodeExecutionUtils
from newel.code_executors.code_executor_context import CodeExecutorContext
from newel.flows.code_runs import Execution
from newel_kernel import Event, LlmRequest
from newel_types import Content, Part

#: The MIME types that are accepted, and the extensions of their files.
_EXTENSIONS = {"text/csv": ".csv"}

#: Standard library only: a sandbox has nothing else.
_EXPLORING = '''import csv

def load_table(name):
    """The rows of a CSV file, each a dict by column name."""
    with open(name) as file:
        lines = file.read().splitlines()
    return list(csv.DictReader(lines))

def kind_of(values):
    for kind in (int, float):
        try:
            for value in values:
                kind(value)
            return kind.__name__
        except ValueError:
            pass
    return "str"

def describe(rows):
    print(f"{{len(rows)}} rows")
    for column in list(rows[0]) if rows else []:
        values = [row[column] for row in rows if row[column]]
        distinct = list(dict.fromkeys(values))
        print(f"{{column}}: {{kind_of(values)}}, {{len(values)}} filled, {{len(distinct)}} distinct, {{distinct[:5]}}")

{variable} = load_table("{name}")
describe({variable})
'''


def take_data_files(context: CodeExecutorContext, request: LlmRequest) -> list[CodeExecutionFile]:
    """Replace each table in the user's contents by the name of a file. Return the files that are not yet explored."""
    for row, content in enumerate(list.copy(request.contents)):
        if content.role != "user":
            continue
        for column, part in enumerate(content.parts or ()):
            blob = part.inline_data
            if blob is None or blob.data is None or blob.mime_type not in _EXTENSIONS:
                continue
            stem, extension = f"data_{row + 1}_{column + 1}", _EXTENSIONS[blob.mime_type]
            name = _file_name(context, stem, extension, blob.data, blob.mime_type)
            parts = request.contents[row].parts or []
            parts[column] = Part(text=f"\nThe user's data is in the file `{name}`.\n")
    explored = set(context.get_processed_file_names())
    return [file for file in context.get_input_files() if file.name not in explored]


def _file_name(context: CodeExecutorContext, stem: str, extension: str, data: bytes, mime_type: str) -> str:
    """The name of the input file that holds `data`: positions move when history is compacted, data does not."""
    encoded = base64.b64encode(data).decode()
    present_files = {file.name: file.content for file in context.get_input_files()}
    name, count = stem + extension, 1
    for present, content in present_files.items():
        if content == encoded:
            return present
    while name in present_files:
        count += 1
        name = f"{stem}_{count}{extension}"
    context.add_input_files([CodeExecutionFile(name=name, content=encoded, mime_type=mime_type)])
    return name


async def explore(execution: Execution, file: CodeExecutionFile) -> list[Event]:
    """Run code that describes `file`. Return an event of that code and one of its result."""
    variable = re.sub(r"\W", "_", file.name.rpartition(".")[0])
    code = _EXPLORING.format(variable=variable, name=file.name)
    parts = [Part(text=f"Exploring the data file `{file.name}`:"), CodeExecutionUtils.build_executable_code_part(code)]
    code_event = execution.event(Content(role="model", parts=parts))
    return [code_event, await execution.run(code, [file], explored=file)]
