package scan

import (
	"context"
	"fmt"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/admin"
)

// Open loads the configuration of dir, which may say that Canal Admin has it,
// and returns what looks at it again; nil with canal.auto.scan=false. A node that
// is to serve may have itself registered. Findings and error are as of
// config.Load, but for what Canal Admin has to say.
func Open(ctx context.Context, dir string, env func(string) (string, bool), serve bool) (*config.Node, []config.Finding, *Scanner, error) {
	return open(ctx, dir, env, serve, "")
}

func open(ctx context.Context, dir string, env func(string) (string, bool), serve bool, only string) (*config.Node, []config.Finding, *Scanner, error) {
	a, err := config.ReadAdmin(dir, env)
	if err != nil {
		return nil, nil, nil, err
	}
	var source Source = NewFolder(dir)
	var node *config.Node
	var findings []config.Finding
	if a == nil {
		node, findings, err = config.LoadOne(dir, env, only)
	} else {
		a.Register = a.Register && serve
		source = admin.New(*a, NewFolder(dir).Server)
		node, findings, err = judge(ctx, dir, env, source, only)
	}
	if err != nil || node.Scan == 0 {
		return node, findings, nil, err
	}
	return node, findings, New(dir, env, source, node), nil
}

// Load is Open for a command that looks once.
func Load(ctx context.Context, dir string, env func(string) (string, bool)) (*config.Node, []config.Finding, error) {
	return LoadOne(ctx, dir, env, "")
}

// LoadOne is Load for a command about one destination, as of config.LoadOne.
func LoadOne(ctx context.Context, dir string, env func(string) (string, bool), name string) (*config.Node, []config.Finding, error) {
	node, findings, _, err := open(ctx, dir, env, false, name)
	return node, findings, err
}

// Values lists the settings in force, and where each comes from. The error is as
// of config.Values.
func Values(ctx context.Context, dir string, env func(string) (string, bool)) ([]config.Value, error) {
	a, err := config.ReadAdmin(dir, env)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return config.Values(dir, env)
	}
	a.Register = false
	all, err := texts(ctx, dir, env, admin.New(*a, NewFolder(dir).Server))
	if err != nil {
		return nil, err
	}
	return all.Values(dir, env)
}

// judge reads everything from a source that is not the folder.
func judge(ctx context.Context, dir string, env func(string) (string, bool), source Source, only string) (*config.Node, []config.Finding, error) {
	all, err := texts(ctx, dir, env, source)
	if err != nil {
		return nil, nil, err
	}
	return all.Judge(dir, env, only)
}

func texts(ctx context.Context, dir string, env func(string) (string, bool), source Source) (*config.Texts, error) {
	text, err := source.Server(ctx)
	if err != nil {
		return nil, err
	}
	server, err := config.NewServer(dir, env, text, true)
	if err != nil {
		return nil, err
	}
	var found []string
	if server.Node.Scan > 0 {
		if found, err = source.Names(ctx); err != nil {
			return nil, err
		}
	}
	names, err := server.Names(found, server.Node.Scan > 0)
	if err != nil {
		return nil, err
	}
	all := config.Texts{Server: text, Admin: true, Instances: map[string]*config.Text{}}
	for _, name := range names {
		t, err := source.Instance(ctx, name)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, fmt.Errorf("Canal Admin lists destination %s and has no configuration for it: write one in its console", name) //nolint:staticcheck // a name begins it
		}
		all.Instances[name] = t
	}
	return &all, nil
}
