package form

// Limits bounds one form. A zero field means the default of the function that
// takes it.
type Limits struct {
	// SchemaBytes is the largest schema accepted.
	SchemaBytes int
	// Fields is how many properties a form may have.
	Fields int
	// Options is how many choices one field may have.
	Options int
	// ValueBytes is the largest JSON text of one value: a default, a choice.
	ValueBytes int
}

// DefaultElicitationLimits are the limits of ParseElicitation.
func DefaultElicitationLimits() Limits {
	return Limits{SchemaBytes: 16 << 10, Fields: 32, Options: 64, ValueBytes: 4 << 10}
}

// DefaultArgumentLimits are the limits of ParseArguments.
func DefaultArgumentLimits() Limits {
	return Limits{SchemaBytes: 256 << 10, Fields: 256, Options: 256, ValueBytes: 64 << 10}
}

func (l Limits) or(def Limits) Limits {
	pick := func(v, d int) int {
		if v <= 0 {
			return d
		}
		return v
	}
	return Limits{
		SchemaBytes: pick(l.SchemaBytes, def.SchemaBytes),
		Fields:      pick(l.Fields, def.Fields),
		Options:     pick(l.Options, def.Options),
		ValueBytes:  pick(l.ValueBytes, def.ValueBytes),
	}
}
