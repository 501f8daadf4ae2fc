"""Conversation scenarios, by the released name."""

from newel.evaluation.cases.conversation_scenarios import (
    ConversationGenerationConfig,
    ConversationScenario,
    ConversationScenarios,
)

__all__ = ["ConversationGenerationConfig", "ConversationScenario", "ConversationScenarios"]
