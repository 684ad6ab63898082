# guide.py: add the calls of this page, and run it with python3 guide.py
import json, os, urllib.error, urllib.request
from datetime import datetime, timedelta, timezone

def call(method, path, body=None, headers=None):
    """Prints the answer, and returns its id."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{os.environ['RAIL']}/v1/{path}", data, headers or {}, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['KEY']}")
    request.add_header("Content-Type", "application/json")
    try:
        answer = urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    text = answer.read().decode().strip()
    print(text)
    return json.loads(text).get("id")

def get(path):
    return call("GET", path)

def post(path, body, headers=None):
    return call("POST", path, body, headers)
