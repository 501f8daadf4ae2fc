"""NodeState: the record of a node in a checkpoint."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from newel.workflow._node_status import NodeStatus
from newel_kernel import Json


class NodeState(BaseModel):
    """The record of a node's execution. Fields at their default are left out of a dump: a checkpoint stays small."""

    model_config = ConfigDict(extra="ignore", ser_json_bytes="base64", defer_build=True)

    status: NodeStatus = NodeStatus.INACTIVE
    input: object = None
    attempt_count: int = 1
    #: The ids of the questions that are open.
    interrupts: list[str] = Field(default_factory=list)
    #: The answers, by the id of their question.
    resume_inputs: Json = Field(default_factory=dict)
    run_counter: int = 0
    run_id: str | None = None
    parent_run_id: str | None = None

    @model_serializer(mode="wrap")
    def _sparse(self, handler: SerializerFunctionWrapHandler) -> Json:
        fields = type(self).model_fields
        return {
            name: value
            for name, value in handler(self).items()
            if getattr(self, name) != fields[name].get_default(call_default_factory=True)
        }


#: The record of a node that completed at its first attempt; as it is dumped, so that no import builds the model.
COMPLETED: Json = {"status": NodeStatus.COMPLETED.value}
#: The record of a node that waits to be triggered again.
WAITING: Json = {"status": NodeStatus.WAITING.value}
