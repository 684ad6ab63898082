"""Tests of the hand-written part, against a server with prepared answers."""

import datetime
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time
import unittest

import rail_client
from rail_client import webhooks
from rail_client._runtime import OMIT, Transport

LOST = (0, {}, b"")
CREATED = (201, {}, json.dumps({"id": "thing_1", "free": 9007199254740993}).encode())


def refusal(status, code, kind="api_error", **headers):
    error = {"type": kind, "code": code, "message": "No.", "param": "id", "request_id": "req_1"}
    return status, headers, json.dumps({"error": error, "existing": {"id": "thing_0"}}).encode()


class Case(unittest.TestCase):
    """Starts servers, and notes requests and pauses."""

    def serve(self, *answers, **settings):
        """Returns a transport to a server with prepared answers, which repeats the last."""
        case = self
        case.got, case.pauses = [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                status, headers, body = answers[min(len(case.got), len(answers) - 1)]
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                case.got.append((self.command, self.path, self.headers, sent))
                if status == 0:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        settings = {"timeout": 10, "max_retries": 3, "headers": None, **settings}
        transport = Transport(f"http://127.0.0.1:{server.server_port}/", "rail_live_1", "2026-08-21", **settings)
        transport._sleep = case.pauses.append
        return transport


class TestCalls(Case):
    def test_tries_have_one_key(self):
        rail = self.serve(LOST, refusal(409, "idempotency_in_progress", Retry_After="1"), refusal(429, "", Retry_After="7"),
                          CREATED)
        answer = rail.call("POST", "/v1/things", body={"a": None, "b": OMIT, "c": "zoë"}, keyed=True)
        self.assertEqual(answer, {"id": "thing_1", "free": 9007199254740993})
        self.assertEqual(len(self.got), 4)
        self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in self.got}), 1)
        self.assertEqual({body for *_, body in self.got}, {'{"a": null, "c": "zoë"}'.encode()})
        self.assertTrue(0.25 <= self.pauses[0] <= 0.5)
        self.assertEqual(self.pauses[1:], [1, 7])
        rail.call("POST", "/v1/things", body={}, keyed=True)
        self.assertNotEqual(self.got[4][2]["Idempotency-Key"], self.got[0][2]["Idempotency-Key"])

    def test_tries(self):
        for name, method, keyed, answer, options, tries in (
            ("a read without an answer", "GET", False, LOST, {}, 4),
            ("a deletion without an answer", "DELETE", False, LOST, {}, 4),
            ("a 500", "GET", False, refusal(500, "internal_error"), {}, 4),
            ("a write in progress", "POST", True, refusal(409, "idempotency_in_progress"), {}, 4),
            ("another number of retries", "POST", True, LOST, {"max_retries": 1}, 2),
            ("no retries", "POST", True, LOST, {"max_retries": 0}, 1),
            ("a refusal", "POST", True, refusal(409, "thing_taken"), {}, 1),
            ("a 501", "GET", False, refusal(501, "rail_not_configured"), {}, 1),
            ("a redirect", "GET", False, (302, {"Location": "/other"}, b""), {}, 1),
            ("a long Retry-After", "GET", False, refusal(503, "unavailable", Retry_After="61"), {}, 1),
            ("an invalid Retry-After", "GET", False, refusal(503, "unavailable", Retry_After="soon"), {}, 4),
            ("a write without a key", "POST", False, LOST, {}, 1),
            ("its 500", "POST", False, refusal(500, "internal_error"), {}, 1),
            ("its 429", "POST", False, refusal(429, "rate_limit_exceeded"), {}, 4),
        ):
            with self.subTest(name):
                rail = self.serve(answer)
                with self.assertRaises(rail_client.RailError):
                    rail.call(method, "/v1/things", keyed=keyed, options=options)
                self.assertEqual(len(self.got), tries)

    def test_errors(self):
        for status, name, kind in (
            (401, "authentication_error", rail_client.AuthenticationError),
            (403, "permission_error", rail_client.PermissionDeniedError),
            (400, "invalid_request_error", rail_client.InvalidRequestError),
            (404, "not_found_error", rail_client.NotFoundError), (409, "conflict_error", rail_client.ConflictError),
            (429, "rate_limit_error", rail_client.RateLimitError), (402, "plan_error", rail_client.PlanError),
            (501, "not_implemented_error", rail_client.ServerError), (500, "api_error", rail_client.ServerError),
            (418, "later_error", rail_client.APIError),
        ):
            with self.assertRaises(rail_client.APIError) as caught:
                self.serve(refusal(status, "a_code", name, Retry_After="3"), max_retries=0).call("GET", "/v1/things")
            error = caught.exception
            self.assertIs(type(error), kind)
            self.assertEqual(
                (error.status, error.type, error.code, error.message, error.param, error.request_id, error.existing,
                 error.retry_after),
                (status, name, "a_code", "No.", "id", "req_1", {"id": "thing_0"}, 3),
            )
            self.assertEqual(str(error), f"{status} a_code: No. (request req_1)")
        for page in (b"<html>Bad gateway</html>", b"[]", b'{"error": "no"}', b"null", b"{}", b"\xff"):
            with self.assertRaises(rail_client.APIError) as caught:
                self.serve((502, {}, page), max_retries=0).call("GET", "/v1/things")
            self.assertEqual((caught.exception.code, caught.exception.message), ("", repr(page)))
        with self.assertRaises(rail_client.NoAnswerError):
            Transport("http://127.0.0.1:1", "k", "v", timeout=1, max_retries=0, headers=None).call("GET", "/v1/things")

    def test_answers(self):
        self.assertIsNone(self.serve((204, {}, b"")).call("GET", "/t/me"))
        self.assertEqual(self.serve((200, {}, "é".encode())).call("GET", "/llms.txt", text=True), "é")

    def test_requests(self):
        rail = self.serve(CREATED, headers={"Rail-Position": "1-a"})
        rail.call("POST", "/v1/things", body={}, keyed=True, options={"idempotency_key": "order 1", "headers": {"X-T": "t"}})
        headers = self.got[0][2]
        self.assertEqual(headers["Authorization"], "Bearer rail_live_1")
        self.assertEqual(headers["X-Rail-Version"], "2026-08-21")
        self.assertEqual(headers["Idempotency-Key"], "order 1")
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual((headers["Rail-Position"], headers["X-T"]), ("1-a", "t"))
        self.assertRegex(headers["User-Agent"], r"^rail-python/\S+ \w+/3\.")
        noon = datetime.datetime(2026, 9, 1, 12, tzinfo=datetime.timezone.utc)
        rail.call("GET", "/v1/things/{}/x", path_params=("a/b?",), query={
            "expand[]": ["a", "b"], "status": ["c", "d"], "flag": False, "n": 3, "at": noon, "none": OMIT,
        })
        self.assertEqual(self.got[1][1], "/v1/things/a%2Fb%3F/x?expand%5B%5D=a&expand%5B%5D=b&status=c%2Cd&flag=false&n=3"
                         "&at=2026-09-01T12%3A00%3A00%2B00%3A00")
        self.assertIsNone(self.got[1][2]["Idempotency-Key"])
        self.assertIsNone(self.got[1][2]["Content-Type"])
        self.assertIsNone(self.got[1][2]["X-T"])
        with self.assertRaises(TypeError):
            rail.call("POST", "/v1/things", body={"at": datetime.datetime(2026, 9, 1)})
        with self.assertRaises(TypeError):
            rail.call("GET", "/v1/things", query={"at": object()})

    def test_ids(self):
        rail = self.serve(CREATED)
        for one in ("", ".", ".."):
            with self.assertRaises(ValueError):
                rail.call("GET", "/v1/things/{}", path_params=(one,))
        self.assertEqual(self.got, [])

    def test_position(self):
        write = (200, {"Rail-Position": "1-a"}, b"{}")
        rail = self.serve(write, CREATED, CREATED)
        for method in ("POST", "GET", "POST"):
            rail.call(method, "/v1/things", keyed=True)
        self.assertEqual([headers["Rail-Position"] for _, _, headers, _ in self.got], [None, "1-a", None])

    def test_latest_position(self):
        """An answer that arrives late does not replace the position of a later write."""
        positions = ["1-ff", "1-fe", "1-100", "2-1", "1-200", "10-1", "9-2"]
        writes = [(200, {"Rail-Position": position}, b"{}") for position in positions]
        rail = self.serve(*(one for write in writes for one in (write, CREATED)))
        for _ in positions:
            rail.call("POST", "/v1/things", keyed=True)
            rail.call("GET", "/v1/things")
        self.assertEqual([headers["Rail-Position"] for method, _, headers, _ in self.got if method == "GET"],
                         ["1-ff", "1-ff", "1-100", "2-1", "2-1", "10-1", "10-1"])

    def test_timeout(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        rail = Transport(address, "k", "v", timeout=10, max_retries=0, headers=None)
        with self.assertRaises(rail_client.NoAnswerError):
            rail.call("GET", "/v1/things", options={"timeout": 0.01})

    def test_addresses(self):
        for address in ("", "rail.example.com", "ftp://rail.example.com", "https://", "https://x/?a=1", "https://x/#a"):
            with self.assertRaises(ValueError):
                rail_client.Rail(address, "key")


class TestLists(Case):
    def page(self, ids, more):
        return 200, {}, json.dumps({"data": [{"id": one} for one in ids], "has_more": more}).encode()

    def test_forward(self):
        rail = self.serve(self.page("ed", True), self.page("cb", True), self.page("a", False))
        self.assertEqual([one["id"] for one in rail.pages("/v1/things", "id", {"limit": 2}, None)], list("edcba"))
        self.assertEqual([path for _, path, *_ in self.got],
                         ["/v1/things?limit=2" + after for after in ("", "&starting_after=d", "&starting_after=b")])

    def test_offset(self):
        rail = self.serve(self.page("ab", True), self.page("c", False))
        self.assertEqual([one["id"] for one in rail.pages("/v1/things", "id", {"offset": 50}, None)], list("abc"))
        self.assertEqual([path for _, path, *_ in self.got], ["/v1/things?offset=50", "/v1/things?starting_after=b"])

    def test_back(self):
        rail = self.serve(self.page("cb", True), self.page("ed", False))
        query = {"starting_after": OMIT, "ending_before": "a"}
        self.assertEqual([one["id"] for one in rail.pages("/v1/things", "id", query, None)], list("bcde"))
        self.assertEqual([path for _, path, *_ in self.got], ["/v1/things?ending_before=a", "/v1/things?ending_before=c"])

    def test_end(self):
        self.assertEqual(list(self.serve(self.page("", True)).pages("/v1/things", "id", {}, None)), [])

    def test_feed(self):
        def page(ids, cursor, end):
            return 200, {}, json.dumps({"data": list(ids), "cursor": cursor, "caught_up": end}).encode()

        rail = self.serve(page("ab", "1", False), page("", "2", False), page("c", "3", True))
        self.assertEqual("".join(rail.feed("/v1/events", {"after": OMIT}, None)), "abc")
        self.assertEqual([path for _, path, *_ in self.got], ["/v1/events", "/v1/events?after=1", "/v1/events?after=2"])


class TestWebhooks(unittest.TestCase):
    SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    BODY = '{"id":"evt_1","type":"sale.created","note":"zoë"}'.encode()
    AT = 1767225600

    def header(self, at=AT, secret=SECRET):
        digest = hmac.new(secret.encode(), str(at).encode() + b"." + self.BODY, hashlib.sha256).hexdigest()
        return f"t={at},v1={digest}"

    def construct(self, headers, body=BODY, now=AT):
        return webhooks.construct_event(body, headers, self.SECRET, now=now)

    def test_valid(self):
        good = self.header()
        rotated = self.header(secret="whsec_other") + good[good.index(",v1="):]
        for headers in (good, rotated, {"Rail-Signature": good}, {"rail-signature": good}, good.replace(",", ", "), good + ",x=1"):
            self.assertEqual(self.construct(headers)["type"], "sale.created")
        self.assertEqual(self.construct(good, body=self.BODY.decode())["id"], "evt_1")
        self.assertEqual(self.construct(good, now=self.AT + 299.5)["id"], "evt_1")
        now = int(time.time())
        self.assertEqual(webhooks.construct_event(self.BODY, self.header(now), self.SECRET)["id"], "evt_1")

    def test_invalid(self):
        good = self.header()
        for headers in (None, "", {}, {"Other": good}, "x", good[:-1], good + "0", good + ",t=1", good.replace("t=", "t=-"),
                        good.replace("v1", "v0"), self.header(secret="whsec_other"), self.header(at=self.AT + 1) + "x"):
            with self.assertRaises(rail_client.SignatureError):
                self.construct(headers)
        for now in (self.AT + 301, self.AT - 301):
            with self.assertRaises(rail_client.SignatureError):
                self.construct(good, now=now)
        with self.assertRaises(rail_client.SignatureError):
            self.construct(good, body=self.BODY + b" ")


if __name__ == "__main__":
    unittest.main()
