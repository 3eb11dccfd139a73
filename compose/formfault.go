package compose

import (
	"errors"
	"strings"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// settingFault is a failure that knows the key of an entry that is at fault: a
// program that is not found, a working directory that is not there.
type settingFault interface {
	error
	Setting() (key, reason string)
}

// transportKeys are the keys of an entry that fill the fields of a transport's
// configuration.
var transportKeys = map[string]string{
	"Command": "command", "Args": "args", "Dir": "cwd", "Env": "env", "InheritEnv": "inheritEnv", "SHA256": "sha256",
	"URL": "url", "Headers": "headers", "PlainHTTP": "plainHttp",
}

// formFault names the field of the form behind a failure of a transport, so
// that the person is led to it. Every other error is returned as it is.
func formFault(err error) error {
	field, reason := transportFault(err)
	if field == "" {
		return err
	}
	return form.Errors{{Field: field, Message: reason}}
}

func transportFault(err error) (field, reason string) {
	var (
		setting settingFault
		launch  *stdio.ConfigError
		stream  *streamhttp.ConfigError
		events  *sse.ConfigError
	)
	switch {
	case errors.As(err, &setting):
		key, why := setting.Setting()
		return formFields[key], why
	case errors.As(err, &launch):
		return configFault(launch.Field, launch.Reason)
	case errors.As(err, &stream):
		return configFault(stream.Field, stream.Reason)
	case errors.As(err, &events):
		return configFault(events.Field, events.Reason)
	}
	return "", ""
}

// configFault splits "Headers X-Key" and "Args[2]" into the field and what in it
// is meant.
func configFault(where, reason string) (field, message string) {
	name, part := where, ""
	if i := strings.IndexAny(where, " ["); i >= 0 {
		name, part = where[:i], strings.TrimSpace(where[i:])
	}
	if part != "" {
		reason = part + " " + reason
	}
	return formFields[transportKeys[name]], reason
}
