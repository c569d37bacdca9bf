-- A small database to change things in.
CREATE DATABASE IF NOT EXISTS shop CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS shop.customers (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email      VARCHAR(200)    NOT NULL UNIQUE,
  name       VARCHAR(100)    NOT NULL,
  created_at DATETIME(3)     NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
);

CREATE TABLE IF NOT EXISTS shop.orders (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id BIGINT UNSIGNED NOT NULL,
  status      ENUM('new', 'paid', 'sent', 'cancelled') NOT NULL DEFAULT 'new',
  total       DECIMAL(12, 2)  NOT NULL,
  note        TEXT,
  changed_at  TIMESTAMP(3)    NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  KEY (customer_id)
);

INSERT INTO shop.customers (email, name) VALUES ('ada@example.com', 'Ada'), ('linus@example.com', 'Linus');
