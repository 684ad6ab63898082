SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, sales IN ACCESS EXCLUSIVE MODE;

ALTER TABLE programs DROP COLUMN commission_net_of_fee;
ALTER TABLE sales DROP COLUMN fee_minor;
