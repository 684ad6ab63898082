"""Verification of webhooks. It needs no client and no API key."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import TYPE_CHECKING, Mapping, Optional, Union

from ._runtime import RailError

if TYPE_CHECKING:
    from . import types

TOLERANCE = 300  # the most seconds between the timestamp of a webhook and the receiver's clock


class SignatureError(RailError):
    """The webhook is not from Rail, or too old. Answer 400."""


def construct_event(body: Union[bytes, str], headers: Union[Mapping[str, str], str, None], secret: str, *,
                    now: Optional[float] = None) -> types.Event:
    """Verifies the signature of a webhook and returns its event.

    The body is the raw body, headers are the request's headers or the value of Rail-Signature, and secret is the
    secret of the endpoint. Drop events whose id you have seen: each is sent at least once.

        event = construct_event(request.get_data(), request.headers, secret)
        if event["type"] == "sale.created":
            print(event["data"]["amount_minor"])
    """
    raw = body.encode() if isinstance(body, str) else body
    if headers is not None and not isinstance(headers, str):
        headers = next((value for name, value in headers.items() if name.lower() == "rail-signature"), None)
    _verify(raw, headers or "", secret, time.time() if now is None else now)
    event: types.Event = json.loads(raw)
    return event


def _verify(body: bytes, header: str, secret: str, now: float) -> None:
    pairs = [pair.strip(" ").partition("=")[::2] for pair in header.split(",")]
    times = [value for name, value in pairs if name == "t"]
    if len(times) != 1 or not re.fullmatch("[0-9]{1,12}", times[0]):
        raise SignatureError("the webhook has no valid Rail-Signature")
    if abs(now - int(times[0])) > TOLERANCE:
        raise SignatureError(f"the timestamp of the webhook is more than {TOLERANCE} seconds off")
    want = hmac.new(secret.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    given = [value.lower() for name, value in pairs if name == "v1" and re.fullmatch("[0-9a-fA-F]{64}", value)]
    if not any([hmac.compare_digest(one, want) for one in given]):
        raise SignatureError("the signature of the webhook is invalid")
