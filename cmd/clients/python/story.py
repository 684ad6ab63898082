"""Tells the story of cmd/clients/story with the Python client."""

import datetime
import json
import os
import urllib.request

from rail_client import ConflictError, NotFoundError, Rail, SignatureError

rail = Rail(os.environ["RAIL_BASE_URL"], os.environ["RAIL_API_KEY"])
program = rail.programs.create(
    name="Story", website_url="https://acme.example", currency="USD", holding_period_days=30,
)
endpoint = rail.webhook_endpoints.create(
    program_id=program["id"], url=os.environ["RAIL_WEBHOOK_URL"], event_types=["sale.created"],
)
partner = rail.partners.create(program_id=program["id"], email="ada@example.com", handle="ada")
rail.flows.create(program_id=program["id"], name="Everyone", rate_type="percent", rate_value=2000)
rail.links.create(
    program_id=program["id"], partner_id=partner["id"], destination_url="https://acme.example/", value="spring",
)

try:
    rail.partners.create(program_id=program["id"], email="ada@example.com", handle="ada")
    raise SystemExit("a second partner has the email")
except ConflictError as error:
    duplicate = error
assert duplicate.existing["id"] == partner["id"]

click = rail.clicks.create(
    program_id=program["id"], value="spring", landing_url="https://acme.example/?ref=spring", visitor_token="visitor-0001",
)
customer = rail.customers.create(program_id=program["id"], click_id=click["id"], email="buyer@example.org")
for i in range(5):
    rail.sales.create(
        program_id=program["id"], customer_id=customer["id"], external_charge_id=f"ch_{i}", amount_minor=4999,
        currency="USD",
    )
sales = sum(1 for _ in rail.sales.list(program_id=program["id"], limit=2))

tag = rail.tags.create(program_id=program["id"], name="Lost")
program_name = rail.programs.retrieve(program["id"])["name"]
try:
    rail.sales.retrieve("sale_none")
    raise SystemExit("sale_none exists")
except NotFoundError as error:
    unknown = error.code

with urllib.request.urlopen(os.environ["RAIL_DELIVERY_URL"]) as response:
    delivery = json.load(response)
event = rail.webhooks.construct_event(delivery["body"], delivery["headers"], endpoint["secret"])
assert event["type"] == "sale.created"
try:
    rail.webhooks.construct_event(delivery["body"] + " ", delivery["headers"], endpoint["secret"])
    forgery_refused = False
except SignatureError:
    forgery_refused = True

now = datetime.datetime.fromisoformat(rail.test_clock.retrieve()["now"].replace("Z", "+00:00"))
rail.test_clock.set(now=(now + datetime.timedelta(days=92)).isoformat(timespec="milliseconds"))
due_minor = sum(balance["due_minor"] for balance in rail.balances.list(program_id=program["id"]))

print(json.dumps({
    "program_id": program["id"], "duplicate": duplicate.code, "duplicate_param": duplicate.param,
    "conflict": isinstance(duplicate, ConflictError), "sales": sales, "tag_id": tag["id"], "program_name": program_name,
    "unknown": unknown, "not_found": True, "event_type": event["type"],
    "event_charge": event["data"]["external_charge_id"], "event_amount_minor": event["data"]["amount_minor"],
    "forgery_refused": forgery_refused, "due_minor": due_minor,
}))
