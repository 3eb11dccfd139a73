package event

// The types of the durable events.
const (
	TypeSessionStarted      Type = "session.started"
	TypeSessionClosed       Type = "session.closed"
	TypeSessionRestored     Type = "session.restored"
	TypeConfigDrift         Type = "config.drift"
	TypeHistoryCompacted    Type = "history.compacted"
	TypeModelChanged        Type = "model.changed"
	TypeGrantChanged        Type = "grant.changed"
	TypeLoopStarted         Type = "loop.started"
	TypeLoopIdle            Type = "loop.idle"
	TypeLoopClosed          Type = "loop.closed"
	TypeToolsetAdopted      Type = "toolset.adopted"
	TypeInputQueued         Type = "input.queued"
	TypeTurnStarted         Type = "turn.started"
	TypeTurnCompleted       Type = "turn.completed"
	TypeTurnFailed          Type = "turn.failed"
	TypeTurnInterrupted     Type = "turn.interrupted"
	TypeMessageCompleted    Type = "message.completed"
	TypeToolRequested       Type = "tool.requested"
	TypeToolStarted         Type = "tool.started"
	TypeToolCompleted       Type = "tool.completed"
	TypeGateOpened          Type = "gate.opened"
	TypeGateResolved        Type = "gate.resolved"
	TypeBindingChanged      Type = "binding.changed"
	TypeCatalogCandidate    Type = "catalog.candidate"
	TypeCatalogAdopted      Type = "catalog.adopted"
	TypeCatalogRejected     Type = "catalog.rejected"
	TypeBindingReconfigured Type = "binding.reconfigured"
	TypeFetchCompleted      Type = "fetch.completed"
	TypeSamplingCompleted   Type = "sampling.completed"
	TypeNotice              Type = "notice"
	TypePinPending          Type = "pin.pending"
	TypePinAccepted         Type = "pin.accepted"
	TypePinRefused          Type = "pin.refused"
	TypePinChanged          Type = "pin.changed"
	TypeExpectation         Type = "expectation"
)

// The types of the ephemeral events.
const (
	TypeModelDelta    Type = "model.delta"
	TypeToolProgress  Type = "tool.progress"
	TypeBindingStderr Type = "binding.stderr"
	TypeBindingLog    Type = "binding.log"
	TypeBindingTrace  Type = "binding.trace"

	TypeResourceUpdated Type = "resource.updated"
)

type class struct {
	durable bool
	make    func() Event
}

var classes = map[Type]class{
	TypeSessionStarted:      {true, func() Event { return new(SessionStarted) }},
	TypeSessionClosed:       {true, func() Event { return new(SessionClosed) }},
	TypeSessionRestored:     {true, func() Event { return new(SessionRestored) }},
	TypeConfigDrift:         {true, func() Event { return new(ConfigDrift) }},
	TypeHistoryCompacted:    {true, func() Event { return new(HistoryCompacted) }},
	TypeModelChanged:        {true, func() Event { return new(ModelChanged) }},
	TypeGrantChanged:        {true, func() Event { return new(GrantChanged) }},
	TypeLoopStarted:         {true, func() Event { return new(LoopStarted) }},
	TypeLoopIdle:            {true, func() Event { return new(LoopIdle) }},
	TypeLoopClosed:          {true, func() Event { return new(LoopClosed) }},
	TypeToolsetAdopted:      {true, func() Event { return new(ToolsetAdopted) }},
	TypeInputQueued:         {true, func() Event { return new(InputQueued) }},
	TypeTurnStarted:         {true, func() Event { return new(TurnStarted) }},
	TypeTurnCompleted:       {true, func() Event { return new(TurnCompleted) }},
	TypeTurnFailed:          {true, func() Event { return new(TurnFailed) }},
	TypeTurnInterrupted:     {true, func() Event { return new(TurnInterrupted) }},
	TypeMessageCompleted:    {true, func() Event { return new(MessageCompleted) }},
	TypeToolRequested:       {true, func() Event { return new(ToolRequested) }},
	TypeToolStarted:         {true, func() Event { return new(ToolStarted) }},
	TypeToolCompleted:       {true, func() Event { return new(ToolCompleted) }},
	TypeGateOpened:          {true, func() Event { return new(GateOpened) }},
	TypeGateResolved:        {true, func() Event { return new(GateResolved) }},
	TypeBindingChanged:      {true, func() Event { return new(BindingChanged) }},
	TypeCatalogCandidate:    {true, func() Event { return new(CatalogCandidate) }},
	TypeCatalogAdopted:      {true, func() Event { return new(CatalogAdopted) }},
	TypeCatalogRejected:     {true, func() Event { return new(CatalogRejected) }},
	TypeBindingReconfigured: {true, func() Event { return new(BindingReconfigured) }},
	TypeFetchCompleted:      {true, func() Event { return new(FetchCompleted) }},
	TypeSamplingCompleted:   {true, func() Event { return new(SamplingCompleted) }},
	TypeNotice:              {true, func() Event { return new(Notice) }},
	TypePinPending:          {true, func() Event { return new(PinChanged) }},
	TypePinAccepted:         {true, func() Event { return new(PinChanged) }},
	TypePinRefused:          {true, func() Event { return new(PinChanged) }},
	TypePinChanged:          {true, func() Event { return new(PinChanged) }},
	TypeExpectation:         {true, func() Event { return new(Expectation) }},
	TypeModelDelta:          {false, func() Event { return new(ModelDelta) }},
	TypeToolProgress:        {false, func() Event { return new(ToolProgress) }},
	TypeBindingStderr:       {false, func() Event { return new(BindingStderr) }},
	TypeBindingLog:          {false, func() Event { return new(BindingLog) }},
	TypeBindingTrace:        {false, func() Event { return new(BindingTrace) }},
	TypeResourceUpdated:     {false, func() Event { return new(ResourceUpdated) }},
}

// TypeOf returns the type of an event: what its header says, or what its Go
// type implies. A PinChanged has no implied type and must say.
func TypeOf(e Event) Type {
	if t := e.Head().Type; t != "" {
		return t
	}
	switch e.(type) {
	case *SessionStarted:
		return TypeSessionStarted
	case *SessionClosed:
		return TypeSessionClosed
	case *SessionRestored:
		return TypeSessionRestored
	case *ConfigDrift:
		return TypeConfigDrift
	case *HistoryCompacted:
		return TypeHistoryCompacted
	case *ModelChanged:
		return TypeModelChanged
	case *GrantChanged:
		return TypeGrantChanged
	case *LoopStarted:
		return TypeLoopStarted
	case *LoopIdle:
		return TypeLoopIdle
	case *LoopClosed:
		return TypeLoopClosed
	case *ToolsetAdopted:
		return TypeToolsetAdopted
	case *InputQueued:
		return TypeInputQueued
	case *TurnStarted:
		return TypeTurnStarted
	case *TurnCompleted:
		return TypeTurnCompleted
	case *TurnFailed:
		return TypeTurnFailed
	case *TurnInterrupted:
		return TypeTurnInterrupted
	case *MessageCompleted:
		return TypeMessageCompleted
	case *ToolRequested:
		return TypeToolRequested
	case *ToolStarted:
		return TypeToolStarted
	case *ToolCompleted:
		return TypeToolCompleted
	case *GateOpened:
		return TypeGateOpened
	case *GateResolved:
		return TypeGateResolved
	case *BindingChanged:
		return TypeBindingChanged
	case *CatalogCandidate:
		return TypeCatalogCandidate
	case *CatalogAdopted:
		return TypeCatalogAdopted
	case *CatalogRejected:
		return TypeCatalogRejected
	case *BindingReconfigured:
		return TypeBindingReconfigured
	case *FetchCompleted:
		return TypeFetchCompleted
	case *SamplingCompleted:
		return TypeSamplingCompleted
	case *Notice:
		return TypeNotice
	case *Expectation:
		return TypeExpectation
	case *ModelDelta:
		return TypeModelDelta
	case *ToolProgress:
		return TypeToolProgress
	case *BindingStderr:
		return TypeBindingStderr
	case *BindingLog:
		return TypeBindingLog
	case *BindingTrace:
		return TypeBindingTrace
	case *ResourceUpdated:
		return TypeResourceUpdated
	}
	return ""
}

// Durable reports whether events of the type are journaled.
func Durable(t Type) bool { return classes[t].durable }

// Types lists every type of the union, in no particular order.
func Types() []Type {
	out := make([]Type, 0, len(classes))
	for t := range classes {
		out = append(out, t)
	}
	return out
}
