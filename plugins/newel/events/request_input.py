"""RequestInput: what a graph node yields to ask the user."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from newel.contexts.tool_input import schema_of
from newel.questions.names import INPUT_CALL
from newel.questions.requests import input_request
from newel_kernel import Event, seam
from newel_types import Content, Part

#: The name of the call that asks; an answer is its function response.
REQUEST_INPUT = INPUT_CALL


class RequestInput(BaseModel):
    """A question to the user. The answer is a function response of the id `interrupt_id`.

    `response_schema` (a type, a pydantic class or a JSON schema) is what an answer must fit; `payload` is data
    for the client that shows the question.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, arbitrary_types_allowed=True, defer_build=True
    )

    interrupt_id: str = Field(default_factory=lambda: seam.new_id(), min_length=1)
    payload: object = None
    message: str | None = None
    response_schema: object = None

    def as_event(self) -> Event:
        """The event that asks."""
        payload, schema = to_jsonable_python(self.payload), schema_of(self.response_schema)
        call = input_request(self.interrupt_id, self.message, payload, schema)
        return Event(
            content=Content(role=None, parts=[Part(function_call=call)]), long_running_tool_ids={self.interrupt_id}
        )
