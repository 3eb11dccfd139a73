package client_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/demo"
)

// A host that wants MCP and nothing else of this module uses a Client alone. The
// server of the example runs in this process; for one of its own use the
// transports of mcpadapter/transport:
//
//	tr, err := stdio.New(stdio.Config{Command: "my-server", Args: []string{"--stdio"}})
func Example() {
	ctx := context.Background()
	c, err := client.New(client.Definition{
		Name:      "demo",
		Transport: clienttest.Pipe{Serve: demo.Run},
	}, client.Deps{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = c.Close() }()
	c.Start()
	if err := c.Wait(ctx); err != nil {
		panic(err)
	}
	tools, err := c.ListTools(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Status().Server.Name, "has a tool called", tools[0].Name)

	result, err := c.CallTool(ctx, "add", json.RawMessage(`{"a": 2, "b": 3}`))
	if err != nil {
		panic(err)
	}
	var answer struct {
		Structured struct{ Sum float64 } `json:"structuredContent"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		panic(err)
	}
	fmt.Println("2 + 3 =", answer.Structured.Sum)

	// Anything else is a raw request. Tools are called by CallTool alone.
	raw, err := c.Call(ctx, "prompts/list", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("prompts:", json.Valid(raw))
	_, err = c.Call(ctx, "tools/call", json.RawMessage(`{"name": "add"}`))
	fmt.Println(err)
	// Output:
	// looprig-demo has a tool called add
	// 2 + 3 = 5
	// prompts: true
	// tools/call: not available as a raw request
}
