DROP TRIGGER commissions_paid_final ON commissions;
DROP TRIGGER payouts_paid_final ON payouts;
DROP FUNCTION refuse_paid();
