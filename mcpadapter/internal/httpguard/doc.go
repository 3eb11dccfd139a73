// Package httpguard is the one HTTP client of the adapter: of the streamable
// HTTP transport, of the older SSE transport and of OAuth. It knows requests,
// answers and event streams; it knows no MCP method and must import neither the
// MCP SDK nor the protocol layer.
//
// Invariants:
//   - A client talks to one origin. Redirects are followed within it alone, at
//     most MaxRedirects, with method and body kept; no configured header or
//     credential ever leaves for another origin.
//   - TLS 1.2 or newer, certificates always verified. Plain HTTP only to the
//     own machine, or where it was asked for.
//   - A client for a place that a server's document named (ForURL) checks the
//     address that a name resolved to at the moment of connecting.
//   - Every wait and every size has a bound; memory is bounded by the caller's
//     frame limit, decompression included.
//   - No error shows a path, a query, a header, userinfo or text of the server.
//   - A request that may have reached the server is never sent again by itself.
package httpguard
