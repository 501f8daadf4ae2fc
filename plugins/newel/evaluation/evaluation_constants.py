"""Keys of older eval files."""


class EvalConstants:
    """The keys of a turn."""

    QUERY = "query"
    EXPECTED_TOOL_USE = "expected_tool_use"
    RESPONSE = "response"
    REFERENCE = "reference"
    TOOL_NAME = "tool_name"
    TOOL_INPUT = "tool_input"
    MOCK_TOOL_OUTPUT = "mock_tool_output"
