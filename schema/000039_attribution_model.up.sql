-- Which of a visitor's partners a new customer is given to, and whether short links
-- hand their click over to the page.
-- The release before survives this: what it makes has the defaults.
SET LOCAL lock_timeout = '2s';

ALTER TABLE programs ADD COLUMN attribution_model text COLLATE "C" NOT NULL DEFAULT 'last',
    ADD COLUMN click_on_redirect boolean NOT NULL DEFAULT true,
    ADD CONSTRAINT programs_attribution_model_check CHECK (attribution_model IN ('last', 'first'));
