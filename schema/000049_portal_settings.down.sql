DROP INDEX programs_subdomain_idx;
DROP TABLE portal_logos;
DROP TABLE portal_settings;
