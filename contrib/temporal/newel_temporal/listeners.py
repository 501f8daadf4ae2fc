"""Listeners: whether any worker asks for the tasks of a queue."""

from __future__ import annotations

from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from newel_temporal import order as known


class Listeners:
    """Tells workflows whether anybody listens to a queue."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=known.LISTENERS)
    async def listened(self, queue: str) -> bool:
        """Whether a worker has asked for runs of the queue lately."""
        return await has_listener(self._client, queue)


async def has_listener(
    client: Client, queue: str, kind: TaskQueueType.ValueType = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
) -> bool:
    """Whether a worker has asked for tasks of the queue lately; one that was killed counts for five minutes."""
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind)
    )
    return bool(answer.pollers)
