SET LOCAL lock_timeout = '2s';

ALTER TABLE programs DROP COLUMN attribution_model, DROP COLUMN click_on_redirect;
