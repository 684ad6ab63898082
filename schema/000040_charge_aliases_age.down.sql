DROP INDEX charge_aliases_age_idx;
