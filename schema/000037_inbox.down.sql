DROP INDEX customers_identifier_idx;
ALTER TABLE customers DROP COLUMN attribution;
DROP TABLE charge_aliases;
DROP TABLE inbox_waits;
DROP TABLE inbox_events;
