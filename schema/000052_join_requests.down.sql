DROP TABLE join_requests;
