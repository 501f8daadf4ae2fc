"""newel-importers: cases of pydantic-evals, openai-evals and promptfoo for newel eval."""
