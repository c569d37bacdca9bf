// Package compose holds what the compose set mounts. Its tests check all that
// can be checked of the containers, the dashboard and the alerts without a
// container engine.
package compose
