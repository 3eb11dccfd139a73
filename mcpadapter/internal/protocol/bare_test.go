package protocol

import (
	"bufio"
	"context"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// bare connects the SDK's own client, without anything of this package in
// front of it, to a scripted peer.
func bare(t testing.TB, serve func(p *peer), rev string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	fromClient, toPeer := io.Pipe()
	fromPeer, toClient := io.Pipe()
	p := &peer{t: t, n: 1, in: make(chan wire.Frame), out: make(chan []byte, 64), gone: make(chan struct{}), log: new(wireLog)}
	ended := make(chan struct{}, 3)
	go func() {
		defer func() { ended <- struct{}{} }()
		serve(p)
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		lines := bufio.NewReader(fromClient)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			select {
			case p.out <- line:
			case <-p.gone:
				return
			}
		}
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		for {
			select {
			case f := <-p.in:
				if _, err := toClient.Write(append(f.Data, '\n')); err != nil {
					return
				}
			case <-p.gone:
				return
			}
		}
	}()
	t.Cleanup(func() {
		p.end(io.EOF)
		_ = toClient.CloseWithError(io.EOF)
		_ = fromClient.CloseWithError(io.EOF)
		for range cap(ended) {
			<-ended
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, opts)
	cs, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromPeer, Writer: toPeer}, &mcp.ClientSessionOptions{ProtocolVersion: rev})
	if err != nil {
		t.Fatalf("bare connect: %v", err)
	}
	t.Cleanup(func() {
		p.end(io.EOF)
		_ = toClient.CloseWithError(io.EOF)
		_ = cs.Close()
	})
	return cs
}

// call is a tools/call of the bare client.
func (s bareSession) call(ctx context.Context) (*mcp.CallToolResult, error) {
	return s.CallTool(ctx, &mcp.CallToolParams{Name: "x"})
}

type bareSession struct{ *mcp.ClientSession }
