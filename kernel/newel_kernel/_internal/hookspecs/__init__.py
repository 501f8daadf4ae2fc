"""Every hook that the kernel calls, each with when it runs, what to return, and an example that runs."""
