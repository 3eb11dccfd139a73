package form

import (
	"encoding/json"
	"testing"
)

func oneField(name, title string, kind Kind) Schema {
	return Schema{Fields: []Field{{Name: name, Title: title, Kind: kind}}}
}

func TestCredential(t *testing.T) {
	t.Parallel()
	tests := []struct {
		form    Schema
		message string
		found   bool
	}{
		{mustElicit(t, prop(`{"type":"string","format":"password"}`)), "", true},
		{mustElicit(t, prop(`{"type":"string","writeOnly":true}`)), "", true},
		{oneField("password", "", KindText), "", true},
		{oneField("userPassword", "", KindText), "", true},
		{oneField("user_passwd", "", KindText), "", true},
		{oneField("mypassword2", "", KindText), "", true},
		{oneField("pass\u200bword", "", KindText), "", true},
		{oneField("PASSWORD", "", KindText), "", true},
		{oneField("apiKey", "", KindText), "", true},
		{oneField("API-KEY", "", KindText), "", true},
		{oneField("OPENAI_API_KEY", "", KindText), "", true},
		{oneField("githubAPIKey", "", KindText), "", true},
		{oneField("accessToken", "", KindText), "", true},
		{oneField("token", "", KindText), "", true},
		{oneField("clientSecret", "", KindRaw), "", true},
		{oneField("x", "One-time code", KindText), "", true},
		{oneField("x", "Card number", KindInteger), "", true},
		{oneField("pin", "", KindInteger), "", true},
		{oneField("x", "Your PIN", KindInteger), "", true},
		{oneField("value", "Value", KindText), "Please enter your GitHub token to go on.", true},
		{oneField("value", "Value", KindText), "API key:", true},
		{oneField("value", "Value", KindText), "What is your password?", true},
		{oneField("value", "Value", KindText), "Hello\nYour GitHub token:", true},
		{Schema{Description: "Paste the private key here", Fields: []Field{{Name: "v", Kind: KindText}}}, "", true},
		{Schema{Fields: []Field{{Name: "v", Kind: KindText, Description: "Enter your recovery phrase"}}}, "", true},

		{oneField("name", "Your name", KindText), "What is your name?", false},
		{oneField("author", "Author", KindText), "", false},
		{oneField("monkey", "Keyboard", KindText), "", false},
		{oneField("passenger", "Passport country", KindText), "", false},
		{oneField("maxTokens", "", KindInteger), "", false},
		{oneField("max_token", "", KindInteger), "", false},
		{oneField("token_limit", "", KindInteger), "", false},
		{oneField("passwordPolicy", "", KindText), "", false},
		{oneField("secretName", "", KindText), "", false},
		{oneField("issueKey", "Issue key", KindText), "Enter the issue key", false},
		{oneField("pin_message", "", KindText), "", false},
		{oneField("pinned", "", KindText), "", false},
		{oneField("rotateToken", "Rotate the token?", KindBoolean), "", false},
		{oneField("project", "", KindText), "Your token expired. Enter the name of the project.", false},
		{oneField("go", "", KindBoolean), "Enter your password?", false},
		{Schema{}, "Enter your password", false},
	}
	for _, tt := range tests {
		field, reason, found := Credential(tt.form, tt.message)
		if found != tt.found {
			b, _ := json.Marshal(tt.form.Fields)
			t.Errorf("%s with %q: %v (%s, %s)", b, tt.message, found, field, reason)
		}
		if found && reason == "" {
			t.Errorf("found without a reason")
		}
	}
}
