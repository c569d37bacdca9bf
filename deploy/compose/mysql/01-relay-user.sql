-- The relay's account, with all that it needs and nothing more: SELECT to read table definitions, REPLICATION SLAVE to
-- read the binlog, REPLICATION CLIENT to ask where the binlog stands. On MariaDB, REPLICATION CLIENT is called
-- BINLOG MONITOR.
CREATE USER IF NOT EXISTS 'canal'@'%' IDENTIFIED BY 'canal';
GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'canal'@'%';
