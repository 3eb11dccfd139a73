package sse

import (
	"bytes"
	"errors"
	"io"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// listen reads the stream to its end.
func (c *Conn) listen() {
	defer c.events.Release()
	var pace wire.Pace // a flood is no reason for others to wait
	for {
		pace.Step()
		event, err := c.events.Next()
		if err != nil {
			c.fail(streamEnd(err))
			return
		}
		if event.Torn {
			continue // half an event is none; the end follows
		}
		frame, ok := c.frame(event)
		if ok && !c.push(frame) {
			return
		}
		if c.cause.Load() != nil {
			return
		}
	}
}

// streamEnd is the typed error of the stream's end.
func streamEnd(err error) error {
	var exchange *httpguard.ExchangeError
	var guard *wire.GuardError
	var endless *wire.FrameEndError
	switch {
	case errors.Is(err, io.EOF):
		return lost("the event stream ended", nil)
	case errors.As(err, &guard):
		return guard
	case errors.As(err, &endless):
		return endless // the limit is what a call failed by, not the loss
	case errors.As(err, &exchange):
		return lost(exchange.Reason, exchange)
	}
	return lost("the stream of events broke", err)
}

// frame makes a frame of an event; there is none in events that carry nothing,
// are of other types, or are not JSON.
func (c *Conn) frame(event httpguard.Event) (wire.Frame, bool) {
	if event.Type != "message" {
		return wire.Frame{}, false
	}
	if event.Oversize != nil {
		return wire.Frame{Oversize: event.Oversize}, true
	}
	data := bytes.Trim(event.Data, " \t\r\n")
	switch {
	case len(data) == 0:
		return wire.Frame{}, false
	case wire.IsFrame(data):
		return wire.Frame{Data: data}, true
	}
	c.heardNoise(data)
	return wire.Frame{}, false
}

func (c *Conn) heardNoise(data []byte) {
	c.mu.Lock()
	c.noise++
	count := c.noise
	c.mu.Unlock()
	if c.opt.Noise != nil {
		c.opt.Noise(data[:min(len(data), wire.MaxStderrLine)])
	}
	if count > c.noiseLimit {
		c.fail(&wire.NoiseError{Lines: count, Limit: c.noiseLimit})
	}
}
