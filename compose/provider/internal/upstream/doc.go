// Package upstream is what the providers' packages share: the configuration of
// one model at one endpoint, the HTTP client with its bounds, event streams,
// failures, and the pieces of a history that every provider spells in its own
// way.
//
// Invariants: a key is asked for with each request and is in no error, log or
// event; what an endpoint wrote is bounded before it is read and cleaned before
// it is in an error; nothing is sent twice; a redirect to another origin is
// refused. The package must not import a provider's SDK or a sibling.
package upstream
