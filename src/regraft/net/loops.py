"""The event loop: uvloop's where it is installed, asyncio's own elsewhere."""

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
