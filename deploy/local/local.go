// Package local reaches the servers of the local stack and runs nodes of the
// relay against them. The demo, the benchmark and the tests on real servers
// share it; the product does not use it.
package local

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
)

// Stack holds the addresses of a running stack, each host:port, empty when a
// server is not there.
type Stack struct {
	MySQL, MariaDB, ZooKeeper, Kafka string

	AdminUser, AdminPassword string // may do everything
	User, Password           string // may read the binlog and the table definitions
}

// FromEnv reads what `deploy/local/stack env` exports.
func FromEnv() (Stack, error) {
	s := Stack{
		MySQL: os.Getenv("CANAL_RELAY_MYSQL"), MariaDB: os.Getenv("CANAL_RELAY_MARIADB"),
		ZooKeeper: os.Getenv("CANAL_RELAY_ZOOKEEPER"), Kafka: os.Getenv("CANAL_RELAY_KAFKA"),
		AdminUser: os.Getenv("CANAL_RELAY_DB_ADMIN_USER"), AdminPassword: os.Getenv("CANAL_RELAY_DB_ADMIN_PASSWORD"),
		User: os.Getenv("CANAL_RELAY_DB_USER"), Password: os.Getenv("CANAL_RELAY_DB_PASSWORD"),
	}
	if s.MySQL == "" && s.MariaDB == "" {
		return s, errors.New(`no stack: run deploy/local/stack up, then eval "$(deploy/local/stack env)"`)
	}
	return s, nil
}

// Server returns the address of the database server of that name, mysql or mariadb.
func (s Stack) Server(name string) (string, error) {
	addr := map[string]string{"mysql": s.MySQL, "mariadb": s.MariaDB}[name]
	if addr == "" {
		return "", fmt.Errorf("the stack has no %s", name)
	}
	return addr, nil
}

// Admin connects to a database server with all rights.
func (s Stack) Admin(server string) (*client.Conn, error) {
	addr, err := s.Server(server)
	if err != nil {
		return nil, err
	}
	conn, err := client.ConnectWithTimeout(addr, s.AdminUser, s.AdminPassword, "", 30*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connect to %s at %s: %w", server, addr, err)
	}
	return conn, nil
}

// Exec runs statements one after the other.
func Exec(conn *client.Conn, statements ...string) error {
	for _, q := range statements {
		if _, err := conn.Execute(q); err != nil {
			return fmt.Errorf("%.120s: %w", strings.TrimSpace(q), err)
		}
	}
	return nil
}
