"""The whole main job, as an integration would do it. ../main.go does the same.

    pip install rail_client-*.whl
    export RAIL_BASE_URL=http://127.0.0.1:8080 RAIL_API_KEY=rail_live_…
    python3 main.py
"""

import json
import os

from rail_client import APIError, Rail

rail = Rail(os.environ["RAIL_BASE_URL"], os.environ["RAIL_API_KEY"])


def code_of(call):
    """Returns the code that a call is refused with. Programs branch on it, since it never changes."""
    try:
        call()
    except APIError as error:
        return error.code
    raise SystemExit("it was not refused")


def sell(charge):
    """Records a sale. The key is that of a process that was restarted, because it is made of what happened."""
    return rail.sales.create(
        program_id=program["id"], customer_id=customer["id"], external_charge_id=charge, amount_minor=4999,
        currency="USD", options={"idempotency_key": f"{program['id']}/{charge}"},
    )


def due():
    """Returns what the partner is owed now, in minor units; there is one balance a currency."""
    return sum(balance["due_minor"] for balance in rail.balances.list(program_id=program["id"], partner_id=partner["id"]))


# Without a holding period, commissions are due at once, and the balance below shows them.
program = rail.programs.create(
    name="Acme partners", website_url="https://acme.example", currency="USD", holding_period_days=0,
)
partner = rail.partners.create(program_id=program["id"], email="ada@example.com", handle="ada")
handle_refused = code_of(
    lambda: rail.partners.create(program_id=program["id"], email="another@example.com", handle="ada")
)
rail.flows.create(program_id=program["id"], name="Everyone", rate_type="percent", rate_value=2000)

click = rail.clicks.create(
    program_id=program["id"], value="ada", landing_url="https://acme.example/?ref=ada", visitor_token="visitor-0001",
)
customer = rail.customers.create(program_id=program["id"], click_id=click["id"], email="buyer@example.org")
for i in range(5):
    sale = sell(f"ch_{i}")
    if sell(f"ch_{i}")["id"] != sale["id"]:
        raise SystemExit(f"ch_{i} was recorded twice")

# rail.sales.list is an iterator over sales; list_page returns one page.
sales, pages, page = 0, 0, {"has_more": True, "data": []}
after = {}
while page["has_more"]:
    page = rail.sales.list_page(program_id=program["id"], limit=2, **after)
    sales, pages = sales + len(page["data"]), pages + 1
    after = {"starting_after": page["data"][-1]["id"]}

due_minor = due()
rail.sales.refund(sale["id"])
print(json.dumps({
    "program_id": program["id"], "sales": sales, "pages": pages, "due_minor": due_minor,
    "due_after_refund_minor": due(), "handle_refused": handle_refused,
    "unknown_refused": code_of(lambda: rail.sales.retrieve("sale_none")),
}))
