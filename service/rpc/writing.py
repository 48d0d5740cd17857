"""Handing messages to whoever listens, with a limit to our patience."""

import asyncio
from typing import Any

import grpc

from service.sessions.errors import NotReading


async def hand_over(context: Any, message: Any, patience: asyncio.Timeout) -> bool:
    """Write a message of a stream. False: the listener has left. NotReading: nobody took it while our patience lasted."""
    try:
        async with patience:
            await context.write(message)
    except TimeoutError:
        raise NotReading from None
    except grpc.aio.BaseError:  # there is nobody to write to any more, and nothing is wrong
        return False
    return True
