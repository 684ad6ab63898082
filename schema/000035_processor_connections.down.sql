-- What came from a processor that the release before does not know is the API's there.
UPDATE programs SET processor = 'api' WHERE processor IN ('lemon_squeezy', 'polar', 'generic');
UPDATE customers SET processor = 'api' WHERE processor IN ('lemon_squeezy', 'polar', 'generic');
UPDATE sales SET processor = 'api' WHERE processor IN ('lemon_squeezy', 'polar', 'generic');
ALTER TABLE programs DROP CONSTRAINT programs_processor_check,
    ADD CONSTRAINT programs_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api'));
ALTER TABLE customers DROP CONSTRAINT customers_processor_check,
    ADD CONSTRAINT customers_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api'));
ALTER TABLE sales DROP CONSTRAINT sales_processor_check,
    ADD CONSTRAINT sales_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api'));
DROP TABLE processor_connections;
