package policy

// Policy is a compiled Config.
type Policy struct{}
