from newel.workflow._workflow import Workflow
from newel.workflow._graph import Edge, DEFAULT_ROUTE
from newel.workflow._node import START
from newel.workflow._function_node import FunctionNode
from newel.agents.context import Context

async def classify(ctx: Context) -> None:
    text = ctx.node_input or ""
    if "urgent" in text.lower():
        ctx.emit_route("urgent")
    elif "billing" in text.lower():
        ctx.emit_route("billing")
    # No emit → DEFAULT_ROUTE fires

async def handle_urgent(ctx: Context) -> None:
    ctx.output = "Escalating to on-call team…"

async def handle_billing(ctx: Context) -> None:
    ctx.output = "Routing to billing department…"

async def handle_default(ctx: Context) -> None:
    ctx.output = "Handled by general support."

classifier = FunctionNode(name="classify", fn=classify)
urgent_node = FunctionNode(name="handle_urgent", fn=handle_urgent)
billing_node = FunctionNode(name="handle_billing", fn=handle_billing)
default_node = FunctionNode(name="handle_default", fn=handle_default)

workflow = Workflow(
    name="triage_workflow",
    edges=[
        (START, classifier, {
            "urgent": urgent_node,
            "billing": billing_node,
            DEFAULT_ROUTE: default_node,
        }),
    ],
)
