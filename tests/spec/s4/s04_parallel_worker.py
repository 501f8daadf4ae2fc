from newel.workflow._workflow import Workflow
from newel.workflow._parallel_worker import _ParallelWorker
from newel.workflow._function_node import FunctionNode
from newel.workflow._node import START
from newel.agents.context import Context
from newel.agents import LlmAgent

summariser = LlmAgent(
    name="summariser",
    model="gemini-2.5-flash",
    instruction="Summarise the document passed to you in one sentence.",
)

async def split_docs(ctx: Context) -> None:
    docs = ctx.node_input  # e.g. ["doc1 text...", "doc2 text..."]
    ctx.output = docs      # pass list to _ParallelWorker

async def collect(ctx: Context) -> None:
    summaries = ctx.node_input  # list[str] from _ParallelWorker
    ctx.output = "\n".join(f"- {s}" for s in summaries)

splitter = FunctionNode(name="split_docs", fn=split_docs)
worker = _ParallelWorker(node=summariser, max_concurrency=4)
collector = FunctionNode(name="collect", fn=collect)

pipeline = Workflow(
    name="doc_summariser",
    edges=[(START, splitter, worker, collector)],
)
