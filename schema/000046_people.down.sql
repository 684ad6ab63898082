DROP TABLE sign_in_failures;
DROP TABLE user_links;
DROP TABLE user_sessions;
DROP TABLE users;
