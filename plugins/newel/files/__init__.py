"""Agent files and app files: the compiler that makes agents and apps from YAML, and the JSON schema for editors.

Text with positions (`syntax`, `variables`, `document`) becomes places (`compilation`). Readers check the value at a
place and return a factory for it (`names`, `tools`, `nodes`, `graphs`, `fields`). Plans hold whole agents and apps
(`plans`, `agents`, `apps`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.files.agent_source import AgentSource as AgentSource
    from newel.files.agent_source import load_source as load_source
    from newel.files.agents import load_agent as load_agent
    from newel.files.allow_list import AppCode as AppCode
    from newel.files.apps import app_fields as app_fields
    from newel.files.apps import load_file as load_file
    from newel.files.document import read_document as read_document
    from newel.files.references import AgentRefConfig as AgentRefConfig
    from newel.files.references import ArgumentConfig as ArgumentConfig
    from newel.files.references import CodeConfig as CodeConfig
    from newel.files.schema import agent_schema as agent_schema
    from newel.files.schema import app_schema as app_schema
    from newel.files.schema import file_schema as file_schema

_WHERE = {
    "AgentRefConfig": "newel.files.references",
    "AgentSource": "newel.files.agent_source",
    "AppCode": "newel.files.allow_list",
    "ArgumentConfig": "newel.files.references",
    "CodeConfig": "newel.files.references",
    "agent_schema": "newel.files.schema",
    "app_fields": "newel.files.apps",
    "app_schema": "newel.files.schema",
    "file_schema": "newel.files.schema",
    "load_agent": "newel.files.agents",
    "load_file": "newel.files.apps",
    "load_source": "newel.files.agent_source",
    "read_document": "newel.files.document",
}

__all__ = list(_WHERE)
__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
