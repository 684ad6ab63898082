SET LOCAL lock_timeout = '2s';
DROP TABLE risk_flags;
DROP TABLE refunds;
DROP TABLE charge_aliases;
DROP TABLE sales;
DROP TABLE customer_duplicates;
DROP TABLE customer_merges;
DROP TABLE customer_external_ids;
DROP TABLE customers;
