package show

import "testing"

// TestLabels: the labels of a type that no statement wrote are quoted as the
// servers quote them. What statements write is tested in package schema.
func TestLabels(t *testing.T) {
	got := Server{}.Type(Type{Base: "enum", Args: []string{"a", "it's", `b\c`, "d,e\n"}})
	if want := `enum('a','it''s','b\\c','d,e\n')`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
