"""The hand-written part of the client: requests, retries, errors and lists."""

from __future__ import annotations

import datetime
import http.client
import json
import platform
import random
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, TypedDict, cast

__version__ = "0.0.0.dev0"

MAX_ANSWER = 64 << 20  # bytes
_FAILURES = (500, 502, 503, 504)  # statuses of servers and proxies that may pass
MAX_WAIT = 60  # seconds; a longer Retry-After ends the call with its error


class _Omitted:
    def __repr__(self) -> str:
        return "OMIT"


OMIT: Any = _Omitted()
"""The value of a parameter that is left out. None is sent as null, which clears a nullable member."""


class Options(TypedDict, total=False):
    """Options of one call."""

    idempotency_key: str
    """Replaces the random key of a write. A key from your own data also prevents a second object after a restart."""
    timeout: float
    """Seconds that one try waits for the server."""
    max_retries: int
    """How often a request is sent again."""
    headers: Mapping[str, str]
    """More headers of the request."""


class RailError(Exception):
    """The base of all errors of this package."""


class NoAnswerError(RailError):
    """No try got an answer. The server may have done the work: repeat the call with the same idempotency key."""


class APIError(RailError):
    """A refusal of the server. Its code never changes; its message is for people and may."""

    def __init__(self, status: int, error: Mapping[str, Any], existing: Any = None, retry_after: int = 0) -> None:
        self.status = status
        self.type: str = error.get("type", "")
        self.code: str = error.get("code", "")  # empty if the answer is not from Rail, such as a proxy's page
        self.message: str = error.get("message", "")
        self.param: Optional[str] = error.get("param")  # the invalid parameter, as a path
        self.request_id: Optional[str] = error.get("request_id")
        self.existing = existing  # the object that prevents a creation
        self.retry_after = retry_after
        super().__init__(f"{status} {self.code}: {self.message} (request {self.request_id})")


class AuthenticationError(APIError):
    """The API key is missing or unknown."""


class PermissionDeniedError(APIError):
    """The API key lacks a scope."""


class InvalidRequestError(APIError):
    """The body or a parameter is invalid."""


class NotFoundError(APIError):
    """The object does not exist."""


class ConflictError(APIError):
    """The object or another one prevents the change."""


class RateLimitError(APIError):
    """The key makes too many requests."""


class PlanError(APIError):
    """The organization is at a limit of its plan."""


class ServerError(APIError):
    """The server failed, or cannot do this."""


_CLASSES = {
    "authentication_error": AuthenticationError, "permission_error": PermissionDeniedError,
    "invalid_request_error": InvalidRequestError, "not_found_error": NotFoundError, "conflict_error": ConflictError,
    "rate_limit_error": RateLimitError, "plan_error": PlanError, "not_implemented_error": ServerError,
    "api_error": ServerError,
}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, so that the API key goes to no other server."""
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


def _plain(value: Any) -> Any:
    """Returns a time as JSON has it."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.isoformat()
    raise TypeError(f"{value!r} is neither JSON nor a time with a time zone")


def _given(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not OMIT}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else _plain(value)


def _encode(query: Mapping[str, Any]) -> str:
    """Encodes a query. A list is a=1&a=2 if its name ends in [], or a=1,2."""
    pairs: List[Tuple[str, str]] = []
    for name, value in _given(query).items():
        values = cast(List[Any], value) if isinstance(value, (list, tuple)) else [value]
        several = [_text(one) for one in values]
        pairs += [(name, one) for one in several] if name.endswith("[]") else [(name, ",".join(several))]
    return urllib.parse.urlencode(pairs)


def _refusal(status: int, after: str, answer: bytes) -> APIError:
    wait = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    try:
        body = json.loads(answer)
        error, existing = dict(body["error"]), body.get("existing")
    except (ValueError, TypeError, KeyError):  # not from Rail: a proxy's page
        error, existing = {"message": repr(answer[:200])}, None
    return _CLASSES.get(error.get("type", ""), APIError)(status, error, existing, wait)


def _rank(position: str) -> List[str]:
    """Returns a position in a form that sorts. A position is the hex numbers of a timeline and of a place in it."""
    return [number.rjust(16) for number in position.split("-")]


class Transport:
    """Sends the requests of a client."""

    def __init__(self, base_url: str, api_key: str, version: str, *, timeout: float, max_retries: int,
                 headers: Optional[Mapping[str, str]]) -> None:
        parts = urllib.parse.urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise ValueError(f"{base_url!r} is not an address such as https://rail.example.com")
        self._base_url = base_url.rstrip("/")
        self._defaults: Options = {"timeout": timeout, "max_retries": max_retries}
        self._headers = {
            "Authorization": f"Bearer {api_key}", "X-Rail-Version": version, "Accept": "application/json",
            "User-Agent": f"rail-python/{__version__} {platform.python_implementation()}/{platform.python_version()}",
            **(headers or {}),
        }
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._sleep = time.sleep
        self._position = ""  # of the latest write, which later reads must show
        self._lock = threading.Lock()

    def call(self, method: str, path: str, *, path_params: Tuple[str, ...] = (), query: Mapping[str, Any] = {},
             body: Optional[Mapping[str, Any]] = None, keyed: bool = False, text: bool = False,
             options: Optional[Options] = None) -> Any:
        """Sends a request, again if necessary, and decodes the answer. All tries have the same idempotency key, so the
        server does the work once, even if answers are lost."""
        settings: Dict[str, Any] = {**self._defaults, **(options or {})}
        headers = {**self._headers, **settings.get("headers", {})}
        data = None
        if body is not None:
            data = json.dumps(_given(body), default=_plain, ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json"
        if keyed:
            headers["Idempotency-Key"] = settings.get("idempotency_key") or secrets.token_hex(16)
        if method == "GET" and self._position:
            headers.setdefault("Rail-Position", self._position)
        for one in path_params:
            if not one.strip("."):  # the request would be of another path
                raise ValueError(f"{one!r} is not an id")
        url = self._base_url + path.format(*(urllib.parse.quote(one, safe="") for one in path_params))
        if pairs := _encode(query):
            url += "?" + pairs
        for tries in range(settings["max_retries"] + 1):
            try:
                answer = self._try(urllib.request.Request(url, data, headers, method=method), settings["timeout"])
                return answer.decode() if text else json.loads(answer) if answer else None
            except RailError as error:
                wait = _wait(error, tries, keyed or method != "POST")
                if wait is None or tries == settings["max_retries"]:
                    raise
            self._sleep(wait)

    def _try(self, request: urllib.request.Request, timeout: float) -> bytes:
        """Sends a request once."""
        try:
            try:
                with self._opener.open(request, timeout=timeout) as response:
                    with self._lock:  # answers may arrive in another order than that of their writes
                        self._position = max(self._position, response.headers.get("Rail-Position", ""), key=_rank)
                    answer: bytes = response.read(MAX_ANSWER + 1)
            except urllib.error.HTTPError as error:
                with error:
                    raise _refusal(error.code, error.headers.get("Retry-After", ""), error.read(MAX_ANSWER)) from None
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError(f"no answer of {request.method} {request.full_url}: {error!r}") from error
        if len(answer) > MAX_ANSWER:
            raise ValueError(f"the answer is longer than {MAX_ANSWER} bytes")
        return answer

    def pages(self, path: str, cursor: str, query: Mapping[str, Any], options: Optional[Options],
              path_params: Tuple[str, ...] = ()) -> Iterator[Any]:
        """Walks a list. It goes back, to newer objects, if ending_before is given."""
        back = _given(query).get("ending_before") is not None
        while True:
            page = self.call("GET", path, path_params=path_params, query=query, options=options)
            data = page["data"][::-1] if back else page["data"]
            yield from data
            if not page["has_more"] or not data:
                return
            # The API takes either an offset or a cursor.
            query = {**query, "offset": OMIT, "ending_before" if back else "starting_after": data[-1][cursor]}

    def feed(self, path: str, query: Mapping[str, Any], options: Optional[Options]) -> Iterator[Any]:
        """Walks a feed until there are no further objects."""
        while True:
            page = self.call("GET", path, query=query, options=options)
            yield from page["data"]
            if page["caught_up"]:
                return
            query = {**query, "after": page["cursor"]}


def _wait(error: RailError, tries: int, safe: bool) -> Optional[float]:
    """Returns the seconds until a failed request is sent again, or None if it is not."""
    # Half of the delay is random: clients that failed together do not return together.
    delay = 0.5 * 2 ** min(tries, 4) * random.uniform(0.5, 1)
    if not isinstance(error, APIError):
        return delay if safe else None
    again = error.status == 429 or safe and (error.status in _FAILURES or error.code == "idempotency_in_progress")
    return max(delay, error.retry_after) if again and error.retry_after <= MAX_WAIT else None
