SET LOCAL lock_timeout = '2s';
DROP TABLE forgotten;
DROP TABLE clicks;
DROP TABLE referrals;
DROP TABLE coupons;
DROP TABLE tracking_values;
DROP TABLE links;
