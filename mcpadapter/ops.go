package mcpadapter

// Operation is one change of the bindings; the five types below are all there
// are.
type Operation interface {
	target() string
	op() string
}

type (
	// EnableBinding runs a binding that was disabled.
	EnableBinding struct{ Name string }
	// DisableBinding withdraws a binding's tools and stops it; its definition
	// stays.
	DisableBinding struct{ Name string }
	// AddBinding adds a binding after those that exist.
	AddBinding struct{ Binding Binding }
	// ReplaceBinding puts another definition under an existing name. Binding's
	// own Name must be empty or the same.
	ReplaceBinding struct {
		Name    string
		Binding Binding
	}
	// RemoveBinding withdraws a binding's tools, stops and forgets it.
	RemoveBinding struct{ Name string }
)

func (o EnableBinding) target() string  { return o.Name }
func (o DisableBinding) target() string { return o.Name }
func (o AddBinding) target() string     { return o.Binding.Name }
func (o ReplaceBinding) target() string { return o.Name }
func (o RemoveBinding) target() string  { return o.Name }

func (EnableBinding) op() string  { return "enable" }
func (DisableBinding) op() string { return "disable" }
func (AddBinding) op() string     { return "add" }
func (ReplaceBinding) op() string { return "replace" }
func (RemoveBinding) op() string  { return "remove" }

var (
	_ Operation = EnableBinding{}
	_ Operation = DisableBinding{}
	_ Operation = AddBinding{}
	_ Operation = ReplaceBinding{}
	_ Operation = RemoveBinding{}
)

// Attribution says who asked for a reconfiguration.
type Attribution struct {
	// By identifies the operator.
	By string
	// Saved says that the change is kept beyond this session.
	Saved bool
}
