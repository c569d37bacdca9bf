// Package alarm tells a webhook when a destination changes its state.
package alarm
