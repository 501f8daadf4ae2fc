"""The agents of a turn, by the released name."""

from newel.evaluation.cases.app_details import AgentDetails, AppDetails

__all__ = ["AgentDetails", "AppDetails"]
