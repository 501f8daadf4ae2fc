"""Commands that packages of their own provide, so that who misses one learns what to install."""

#: Command -> its package.
PACKAGES = {"fake-server": "newel-testkit", "sessions import-adk": "newel-adk"}


def missing_package(command: str) -> str:
    """What to install for a command that is not there; empty if no package is known to provide it."""
    package = PACKAGES.get(command)
    if package is None:
        return ""
    return (
        f"; it comes with {package}: `pip install {package}`, and enable its plugin if your distribution names each one"
    )
