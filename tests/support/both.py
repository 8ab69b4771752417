"""Both clients behind one face."""

from __future__ import annotations

import svc_sdk.aio
import svc_sdk.client


class Both:
    """One face for both clients: an awaitable result is awaited on the test's own loop."""

    def __init__(self, client, runner):
        self.client = client
        self.runner = runner

    def __getattr__(self, name):
        method = getattr(self.client, name)
        if self.runner is None:
            return method
        return lambda *args, **kwargs: self.runner.run(method(*args, **kwargs))

    def close(self):
        if self.runner is None:
            self.client.close()
        else:
            self.runner.run(self.client.aclose())


def without_waiting(monkeypatch):
    """The delays that the clients ask for from now on; none is really waited."""
    asked = []

    async def asleep(seconds):
        asked.append(seconds)

    monkeypatch.setattr(svc_sdk.client, "sleep", asked.append)
    monkeypatch.setattr(svc_sdk.aio, "sleep", asleep)
    return asked
