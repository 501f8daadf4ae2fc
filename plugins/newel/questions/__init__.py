"""Questions: calls that wait for the user. What is asked, by whom, on whose behalf, and which answer counts.

A question is a call of the framework's own (for an approval, a credential, an input) or of a long-running tool, which
the runtime marked as one that waits. The answer is the user's function response to it.
"""
