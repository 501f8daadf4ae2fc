from pydantic import BaseModel
from newel.agents import LlmAgent
from newel.tools.function_tool import FunctionTool
from newel import types

class ResearchOutput(BaseModel):
    summary: str
    sources: list[str]
    confidence: float

async def web_search(query: str) -> str:
    return f"Results for: {query}"

research_agent = LlmAgent(
    name="researcher",
    model="gemini-2.5-flash",
    mode="task",                    # task agent — FinishTaskTool injected automatically
    output_schema=ResearchOutput,   # _DefaultTaskOutput replaced by ResearchOutput
    input_schema=None,              # uses _DefaultTaskInput (goal + background)
    instruction=(
        "Research the given goal thoroughly. "
        "Call finish_task with a structured summary, source list, and confidence score."
    ),
    tools=[FunctionTool(fn=web_search)],
)

coordinator = LlmAgent(
    name="coordinator",
    model="gemini-2.5-pro",
    instruction="Delegate research tasks to the researcher sub-agent.",
    sub_agents=[research_agent],
)
