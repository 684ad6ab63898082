-- The job adds the spans of 2 days and more again.
SELECT 1;
