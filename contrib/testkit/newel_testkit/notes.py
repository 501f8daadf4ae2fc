"""A server of MCP that keeps notes in memory, for tests and examples: ``python -m newel_testkit.notes``."""

from __future__ import annotations


def main() -> None:
    """Serve over stdin and stdout."""
    from mcp.server.mcpserver import MCPServer

    notes: list[str] = []
    server = MCPServer("notes", instructions="Keeps notes as long as it runs.")

    @server.tool()
    def add_note(text: str) -> int:
        """Keep a note; its number is the result."""
        notes.append(text)
        return len(notes)

    @server.tool()
    def read_notes() -> list[str]:
        """All notes."""
        return notes

    @server.resource("note://first", mime_type="text/plain")
    def first() -> str:
        """The first note."""
        return notes[0] if notes else "There is no note."

    @server.prompt()
    def tidy(subject: str) -> str:
        """How to tidy up."""
        return f"Put the notes about {subject} into one."

    server.run("stdio")


if __name__ == "__main__":
    main()
