"""Responses: OpenAI's protocol whose conversation is a list of items, thoughts among them."""
