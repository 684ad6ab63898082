DROP INDEX risk_flags_list_idx;
