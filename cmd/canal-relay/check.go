package main

import (
	"github.com/spf13/cobra"
)

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{Use: "check", Short: "Check configuration, sources and Kafka"}
}
