SET LOCAL lock_timeout = '2s';
DROP TABLE import_objects;
DROP TABLE import_balances;
DROP TABLE import_problems;
DROP TABLE import_files;
DROP TABLE import_keys;
DROP TABLE import_rows;
DROP TABLE imports;
