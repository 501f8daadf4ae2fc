from opentelemetry import trace

tracer = trace.get_tracer(__name__)

# Each node run creates a span named after the node.
# Wrap your runner usage with span inspection if you need
# per-node latency or failure counts:
async def run_with_tracing(runner, node_input):
    ctx = await runner.run(node_input)
    if ctx.error:
        print(f"Node failed: {ctx.error_node_path} — {ctx.error}")
    else:
        print(f"Node succeeded, output: {ctx.output}")
    return ctx
