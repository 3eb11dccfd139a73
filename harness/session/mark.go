package session

// LastSeq is the sequence number of the newest durable event that subscribers
// were given. Everything that a call of this session has waited for (a turn's
// end, a published event, an answered gate) is at or before it.
func (s *Session) LastSeq() uint64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.hub.delivered
}
