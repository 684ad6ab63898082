"""Calls the API of Rail. It needs only the standard library.

    from rail_client import ConflictError, Rail

    rail = Rail("https://rail.example.com", os.environ["RAIL_API_KEY"])
    try:
        partner = rail.partners.create(program_id="prg_…", email="ada@example.com")
    except ConflictError as error:
        print(error.code, error.existing)
    for partner in rail.partners.list(program_id="prg_…"):
        print(partner["id"])

A request whose answer is lost, or is a 429, 500, 502, 503 or 504, is sent again, with the same idempotency key. The
server does the work once. A parameter that is None is sent as null, which clears a nullable member; one that is left
out is not sent.
"""

from typing import TYPE_CHECKING

from . import webhooks
from ._client import API_VERSION, Rail
from ._runtime import (
    OMIT,
    APIError,
    AuthenticationError,
    ConflictError,
    InvalidRequestError,
    NoAnswerError,
    NotFoundError,
    Options,
    PermissionDeniedError,
    PlanError,
    RailError,
    RateLimitError,
    ServerError,
    __version__,
)
from .webhooks import SignatureError, construct_event

if TYPE_CHECKING:  # `from rail_client import types` imports it, which takes some time
    from . import types

__all__ = [
    "API_VERSION",
    "OMIT",
    "APIError",
    "AuthenticationError",
    "ConflictError",
    "InvalidRequestError",
    "NoAnswerError",
    "NotFoundError",
    "Options",
    "PermissionDeniedError",
    "PlanError",
    "Rail",
    "RailError",
    "RateLimitError",
    "ServerError",
    "SignatureError",
    "__version__",
    "construct_event",
    "types",
    "webhooks",
]
