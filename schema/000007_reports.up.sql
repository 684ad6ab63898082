-- Reports are read from sums of days and months that are over. A day that a
-- later change touches (a refund, say) is marked in the change's transaction,
-- and read from its rows until it has been summed again; so reports are exact
-- to the last commit, and no sale or click waits for another's sum.
SET LOCAL lock_timeout = '2s';

CREATE INDEX customers_lead_idx ON customers (program_id, lead_at);
CREATE INDEX customers_converted_idx ON customers (program_id, converted_at) WHERE converted_at IS NOT NULL;
CREATE INDEX commissions_undated_idx ON commissions (program_id, created_at) WHERE sale_id IS NULL OR kind = 'clawback';

-- The facts that reports count, one row each, at the moment that dates them
-- (decisions, 141 and 199). A partner's money has the link of its customer.
CREATE VIEW report_facts AS
SELECT k.program_id, k.created_at AS at, k.partner_id, k.link_id, NULL::text AS product, NULL::text AS product_name, NULL::text AS currency,
    1 AS clicks, 0 AS leads, 0 AS customers, 0 AS sales, 0 AS refunded, 0::bigint AS revenue_minor, 0::bigint AS commissions_minor
FROM clicks k
UNION ALL
SELECT c.program_id, c.lead_at, c.partner_id, c.link_id, NULL, NULL, NULL, 0, 1, 0, 0, 0, 0, 0 FROM customers c
UNION ALL
SELECT c.program_id, c.converted_at, c.partner_id, c.link_id, coalesce(f.product_id, f.product_name), f.product_name, NULL, 0, 0, 1, 0, 0, 0, 0
FROM customers c LEFT JOIN sales f ON f.customer_id = c.id AND f.is_first_sale WHERE c.converted_at IS NOT NULL
UNION ALL
SELECT s.program_id, s.occurred_at, s.partner_id, CASE WHEN s.partner_id IS NOT NULL THEN c.link_id END, coalesce(s.product_id, s.product_name), s.product_name,
    s.currency, 0, 0, 0, 1, (s.refunded_at IS NOT NULL)::int, CASE WHEN s.refunded_at IS NULL THEN s.amount_minor ELSE 0 END, 0
FROM sales s LEFT JOIN customers c ON c.id = s.customer_id
UNION ALL
SELECT s.program_id, s.occurred_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name, k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor
FROM sales s JOIN commissions k ON k.sale_id = s.id AND k.kind <> 'clawback' LEFT JOIN customers c ON c.id = k.customer_id
WHERE k.status NOT IN ('rejected', 'voided')
UNION ALL
SELECT k.program_id, k.created_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name, k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id LEFT JOIN customers c ON c.id = k.customer_id
WHERE (k.sale_id IS NULL OR k.kind = 'clawback') AND k.status NOT IN ('rejected', 'voided');

-- partner_id is '' for money without a partner, key '' for none; what has no
-- currency counts under the program's. dimension is what a row is of: everything, a partner, a link,
-- a product, or a partner's product.
CREATE TABLE report_sums (
    org_id            text COLLATE "C" NOT NULL,
    program_id        text COLLATE "C" NOT NULL,
    dimension         text COLLATE "C" NOT NULL,
    span              text COLLATE "C" NOT NULL,
    start             date NOT NULL,
    partner_id        text COLLATE "C" NOT NULL,
    key               text COLLATE "C" NOT NULL,
    currency          text COLLATE "C" NOT NULL,
    label             text,
    clicks            bigint NOT NULL,
    leads             bigint NOT NULL,
    customers         bigint NOT NULL,
    sales             bigint NOT NULL,
    refunded          bigint NOT NULL,
    revenue_minor     bigint NOT NULL,
    commissions_minor bigint NOT NULL,
    CONSTRAINT report_sums_pkey PRIMARY KEY (program_id, dimension, span, start, partner_id, key, currency),
    CONSTRAINT report_sums_dimension_check CHECK (dimension IN ('total', 'partner', 'link', 'product', 'partner_product')),
    CONSTRAINT report_sums_span_check CHECK (span IN ('day', 'month'))
);
-- What one partner did, over any time.
CREATE INDEX report_sums_partner_idx ON report_sums (program_id, partner_id, dimension, span, start) WHERE dimension IN ('partner', 'link', 'partner_product');

-- The days and months that are summed.
CREATE TABLE report_spans (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    span       text COLLATE "C" NOT NULL,
    start      date NOT NULL,
    CONSTRAINT report_spans_pkey PRIMARY KEY (program_id, span, start),
    CONSTRAINT report_spans_span_check CHECK (span IN ('day', 'month'))
);

-- The days that something has touched since they were summed.
CREATE TABLE report_marks (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    day        date NOT NULL,
    CONSTRAINT report_marks_pkey PRIMARY KEY (id)
);
CREATE INDEX report_marks_day_idx ON report_marks (program_id, day);
