SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, coupons IN ACCESS EXCLUSIVE MODE;

ALTER TABLE programs DROP COLUMN auto_enrol_customers;
ALTER TABLE coupons DROP COLUMN external_parent_id, DROP COLUMN active_as_of;
