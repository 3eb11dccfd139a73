package config

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/looprig/looprig/compose/config/doc"
)

// Revisions are the protocol revisions that an entry can pin, newest first.
var Revisions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func (s *Server) readBehaviour(o *doc.Obj, literal bool) {
	s.Discovery = o.OneOf("discovery", "auto", "auto", "eager", "lazy")
	s.Protocol = o.OneOf("protocol", "auto", append([]string{"auto"}, Revisions...)...)
	s.Compat = o.OneOf("compat", "default", "strict", "default", "legacy")
	s.Parallel = o.Bool("parallel", false)
	s.StartupTimeout = o.Duration("startupTimeout", 0, MaxStartupTimeout)
	s.RequestTimeout = o.Duration("requestTimeout", 0, MaxRequestTimeout)
	tools := o.Sub("tools")
	s.ToolAllow, s.ToolDeny = tools.Strings("allow"), tools.Strings("deny")
	tools.Done()
	caps := o.Sub("capabilities")
	s.Elicitation = caps.Bool("elicitation", true)
	// The built-in demo has a tool that shows it; every request is asked about.
	s.Sampling = caps.Bool("sampling", s.Builtin != "")
	s.readRoots(caps, literal)
	caps.Done()
	elicit := o.Sub("elicitation")
	s.FreeText = elicit.OneOf("freeText", "", "allow", "confirm", "refuse")
	elicit.Done()
	s.readSampling(o.Sub("sampling"))
	if o.Has("sampling") && !s.Sampling && !caps.Has("sampling") {
		o.Fail("sampling", "it has no effect, because the server may not ask the model; add \"capabilities\": {\"sampling\": true}, or say false there")
	}
	s.TrustAnnotations = o.Bool("trustAnnotations", false)
	s.LogLevel = o.OneOf("logLevel", "", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
	s.readLimits(o)
	if most := max(s.Limits["roots"], DefaultRoots); len(s.Roots) > most {
		o.Fail("capabilities", "%d roots (limit %d, setting limits.roots)", len(s.Roots), most)
	}
}

// Upper bounds of an entry's sampling policy.
const (
	MaxSamplingBudget      = 100_000_000
	MaxSamplingTokens      = 1_000_000
	MaxSamplingDepth       = 8
	MaxSamplingConcurrency = 16
	DefaultRoots           = 64 // the setting "limits.roots" raises it
)

func (s *Server) readSampling(o *doc.Obj) {
	s.SamplingPolicy = SamplingPolicy{
		Model: o.String("model", ""), Approve: o.OneOf("approve", "", "ask", "reply", "auto"),
		TokenBudget: o.Int("tokenBudget", 0, 1, MaxSamplingBudget), MaxTokens: o.Int("maxTokens", 0, 1, MaxSamplingTokens),
		Depth: o.Int("depth", 0, 1, MaxSamplingDepth), Concurrency: o.Int("concurrency", 0, 1, MaxSamplingConcurrency),
		Tools: o.Bool("tools", false),
	}
	checkModel(o, "model", s.SamplingPolicy.Model)
	o.Done()
}

func (s *Server) readRoots(o *doc.Obj, literal bool) {
	s.Roots = o.Strings("roots")
	if literal || o.Failed("roots") {
		return
	}
	for i, path := range s.Roots {
		switch {
		case !filepath.IsAbs(path):
			o.Fail("roots", "%q is not an absolute path", path)
		case filepath.Clean(path) != path:
			o.Fail("roots", "%q is not written plainly: %q", path, filepath.Clean(path))
		case slices.Contains(s.Roots[:i], path):
			o.Fail("roots", "%q is named twice", path)
		}
	}
}

func (s *Server) readLimits(o *doc.Obj) {
	limits := o.Sub("limits")
	for _, m := range limits.Members() {
		if _, known := LimitMax[m.Key]; !known {
			limits.Fail(m.Key, "unknown limit%s", doc.DidYouMean(m.Key, slices.Sorted(maps.Keys(LimitMax))))
			continue
		}
		if s.Limits == nil {
			s.Limits = map[string]int{}
		}
		s.Limits[m.Key] = limits.Int(m.Key, 0, 1, LimitMax[m.Key])
	}
}

// LimitMax are the settings below limits, with the most that each may be.
var LimitMax = map[string]int{
	"frameBytes": 256 << 20, "noiseLines": 1_000_000, "jsonDepth": 1000, "jsonMembers": 10_000_000, "malformedFrames": 100_000,
	"roundTrips": 100, "requestStateBytes": 1 << 20,
	"tools": 100_000, "prompts": 100_000, "resources": 1_000_000, "templates": 100_000, "pages": 10_000,
	"cursorBytes": 64 << 10, "pageBytes": 256 << 20, "catalogBytes": 256 << 20,
	"schemaBytes": 16 << 20, "schemaDepth": 256, "schemaNodes": 1_000_000,
	"nameBytes": 64 << 10, "titleBytes": 64 << 10, "descriptionBytes": 1 << 20, "instructionsBytes": 1 << 20,
	"argumentBytes": 64 << 20, "textBytes": 64 << 20, "structuredBytes": 64 << 20,
	"binaryItemBytes": 256 << 20, "binaryItems": 1000, "binaryBytes": 256 << 20, "blocks": 10_000,
	"logBytes":           1 << 20,
	"elicitMessageBytes": 64 << 10, "elicitSchemaBytes": 256 << 10, "elicitFields": 256, "elicitOptions": 1000,
	"elicitValueBytes": 1 << 20, "elicitPending": 64,
	"samplingBytes": 16 << 20, "samplingMessages": 4096,
	"roots": 1024, "subscriptions": 4096, "uriBytes": 64 << 10, "completionBytes": 1 << 20,
	"queuedNotifications": 100_000, "concurrentRequests": 64,
}
