package demo

// The schemas are written out, so that the order of their fields is the order
// in which a form shows them.
const (
	addSchema = `{"type":"object","properties":{` +
		`"a":{"type":"number","title":"First number","description":"The first summand.","minimum":-1e300,"maximum":1e300},` +
		`"b":{"type":"number","title":"Second number","description":"The second summand.","minimum":-1e300,"maximum":1e300}},` +
		`"required":["a","b"],"additionalProperties":false}`

	sumSchema = `{"type":"object","properties":{` +
		`"sum":{"type":"number","title":"Sum","description":"The sum of both numbers."}},"required":["sum"]}`

	echoSchema = `{"type":"object","properties":{` +
		`"text":{"type":"string","title":"Text","description":"What to return.","default":"hello"}},` +
		`"required":["text"],"additionalProperties":false}`

	slowSchema = `{"type":"object","properties":{` +
		`"seconds":{"type":"number","title":"Seconds","description":"How long to work, in seconds.","minimum":0,"maximum":600,"default":3},` +
		`"steps":{"type":"integer","title":"Steps","description":"How many times to report progress.","minimum":1,"maximum":1000,"default":3}},` +
		`"additionalProperties":false}`

	failSchema = `{"type":"object","properties":{` +
		`"message":{"type":"string","title":"Message","description":"The text of the error.","default":"this tool always fails"}},` +
		`"additionalProperties":false}`

	bigSchema = `{"type":"object","properties":{` +
		`"kilobytes":{"type":"integer","title":"Kilobytes","description":"The size of the text in KiB.","minimum":1,"maximum":8192,"default":64}},` +
		`"additionalProperties":false}`

	noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

	// nameForm is the form of ask-name.
	nameForm = `{"type":"object","properties":{` +
		`"name":{"type":"string","title":"Name","description":"What the demo may call you.","minLength":1,"maxLength":100},` +
		`"age":{"type":"integer","title":"Age","description":"In years; leave it empty if you like.","minimum":0,"maximum":150},` +
		`"colour":{"type":"string","title":"Favourite colour","oneOf":[` +
		`{"const":"red","title":"Red"},{"const":"green","title":"Green"},{"const":"blue","title":"Blue"}],"default":"green"},` +
		`"topics":{"type":"array","title":"Topics","description":"What you want to hear about.","items":{"anyOf":[` +
		`{"const":"tools","title":"Tools"},{"const":"forms","title":"Forms"},{"const":"catalogs","title":"Changing catalogs"}]},` +
		`"uniqueItems":true,"default":["tools"]},` +
		`"newsletter":{"type":"boolean","title":"Newsletter","description":"There is none; the answer is only echoed.","default":true}},` +
		`"required":["name"]}`

	// emptyForm asks for a bare yes or no.
	emptyForm = `{"type":"object","properties":{}}`

	// answerSchema is the output schema of the ask tools.
	answerSchema = `{"type":"object","properties":{` +
		`"action":{"type":"string","title":"Action","enum":["accept","decline","cancel"]},` +
		`"answers":{"type":"object","title":"Answers","description":"The answers exactly as they were sent."}},` +
		`"required":["action"]}`

	thinkSchema = `{"type":"object","properties":{` +
		`"question":{"type":"string","title":"Question","description":"What the client's model is asked.",` +
		`"minLength":1,"maxLength":1000,"default":"What is a loop?"}},"additionalProperties":false}`

	greetSchema = `{"type":"object","properties":{` +
		`"who":{"type":"string","title":"Who","description":"Whom to greet.","minLength":1,"maxLength":100}},` +
		`"required":["who"],"additionalProperties":false}`

	evolveSchema = `{"type":"object","properties":{` +
		`"edition":{"type":"integer","title":"Edition","description":"The number of the catalog that is offered now."},` +
		`"added":{"type":"array","title":"Added","items":{"type":"string"}},` +
		`"removed":{"type":"array","title":"Removed","items":{"type":"string"}},` +
		`"changed":{"type":"array","title":"Changed","items":{"type":"string"}}},` +
		`"required":["edition","added","removed","changed"]}`
)
