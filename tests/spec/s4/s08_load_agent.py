from newel.agents.agent_config import load_agent_from_config

# Load an agent defined entirely in YAML
agent = load_agent_from_config("coordinator.yaml")
