ALTER TABLE commissions DROP COLUMN clawed_minor, DROP COLUMN shrunk_minor;
ALTER TABLE sales DROP COLUMN refunded_minor;
