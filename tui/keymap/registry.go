package keymap

// The ids of the actions.
const (
	Interrupt ID = "app.interrupt"
	Suspend   ID = "app.suspend"
	Redraw    ID = "app.redraw"

	Palette      ID = "app.palette"
	Help         ID = "app.help"
	LeaderKey    ID = "app.leader"
	OpenMain     ID = "screen.main"
	OpenBindings ID = "screen.bindings"
	OpenCatalog  ID = "screen.catalog"
	OpenLedger   ID = "screen.ledger"
	OpenSessions ID = "screen.sessions"
	OpenGate     ID = "gate.oldest"
	OpenNotices  ID = "screen.notices"
	GetPrompt    ID = "prompt.get"
	ReadResource ID = "resource.read"
	NextPane     ID = "pane.next"
	Quit         ID = "app.quit"

	Back ID = "app.back"

	Send          ID = "composer.send"
	Newline       ID = "composer.newline"
	Complete      ID = "composer.complete"
	HistoryBack   ID = "composer.history_back"
	HistoryOn     ID = "composer.history_forward"
	HistorySearch ID = "composer.history_search"
	Editor        ID = "composer.editor"
	QuitEmpty     ID = "composer.quit"

	LineDown  ID = "transcript.line_down"
	LineUp    ID = "transcript.line_up"
	ItemDown  ID = "transcript.item_down"
	ItemUp    ID = "transcript.item_up"
	HalfDown  ID = "transcript.half_down"
	HalfUp    ID = "transcript.half_up"
	Top       ID = "transcript.top"
	Follow    ID = "transcript.follow"
	Expand    ID = "transcript.expand"
	CopyItem  ID = "transcript.copy"
	CopyRaw   ID = "transcript.copy_raw"
	OpenItem  ID = "transcript.open"
	UseItem   ID = "transcript.insert"
	Search    ID = "transcript.search"
	SearchOn  ID = "transcript.search_next"
	SearchOff ID = "transcript.search_previous"

	BindingAdd       ID = "binding.add"
	BindingToggle    ID = "binding.toggle"
	BindingReplace   ID = "binding.replace"
	BindingRemove    ID = "binding.remove"
	BindingReconnect ID = "binding.reconnect"
	BindingDetail    ID = "binding.detail"
	BindingFilter    ID = "binding.filter"
	BindingCatalog   ID = "binding.catalog"
	BindingStderr    ID = "binding.stderr"
	BindingLogs      ID = "binding.logs"
	BindingTrace     ID = "binding.trace"

	CatalogUse      ID = "catalog.use"
	CatalogFilter   ID = "catalog.filter"
	CatalogNext     ID = "catalog.next_binding"
	CatalogDetail   ID = "catalog.detail"
	CatalogKindOn   ID = "catalog.kind_next"
	CatalogKindBack ID = "catalog.kind_previous"
	CatalogCompare  ID = "catalog.compare"
	CatalogOlder    ID = "catalog.older"
	CatalogNewer    ID = "catalog.newer"
	CatalogWatch    ID = "catalog.watch"
	CatalogRaw      ID = "catalog.raw"
	CatalogCopy     ID = "catalog.copy"

	NoticesFilter  ID = "notices.filter"
	NoticesNotices ID = "notices.notices"
	NoticesStderr  ID = "notices.stderr"
	NoticesLogs    ID = "notices.logs"

	FetchedInsert ID = "fetched.insert"
	FetchedCopy   ID = "fetched.copy"

	SessionFork   ID = "sessions.fork"
	SessionDelete ID = "sessions.delete"

	ListUp    ID = "list.up"
	ListDown  ID = "list.down"
	ListPgUp  ID = "list.page_up"
	ListPgDn  ID = "list.page_down"
	ListPick  ID = "list.choose"
	ListClose ID = "list.close"

	PermitOnce    ID = "permission.once"
	PermitSession ID = "permission.session"
	PermitAlways  ID = "permission.always"
	PermitRead    ID = "permission.read_only"
	PermitExact   ID = "permission.exact"
	PermitDeny    ID = "permission.deny"
	PermitReason  ID = "permission.deny_reason"
	PermitFull    ID = "permission.full"
	PermitToggle  ID = "permission.toggle"
	PermitChoose  ID = "permission.choose"
	PermitLater   ID = "permission.minimise"

	ConfirmYes    ID = "confirm.yes"
	ConfirmNo     ID = "confirm.no"
	ConfirmCancel ID = "confirm.cancel"

	URLOpen    ID = "open_url.open"
	URLCopy    ID = "open_url.copy"
	URLFull    ID = "open_url.full"
	URLDecline ID = "open_url.decline"
	URLCancel  ID = "open_url.cancel"

	ServerAccept ID = "server.accept"
	ServerOnce   ID = "server.once"
	ServerRefuse ID = "server.refuse"
	ServerLater  ID = "server.minimise"

	SamplingRun     ID = "sampling.run"
	SamplingEdit    ID = "sampling.edit"
	SamplingDecline ID = "sampling.decline"
	SamplingCancel  ID = "sampling.cancel"
	SamplingFull    ID = "sampling.full"

	FormNext    ID = "form.next"
	FormPrev    ID = "form.previous"
	FormSubmit  ID = "form.submit"
	FormDecline ID = "form.decline"
	FormCancel  ID = "form.cancel"
	FormUnset   ID = "form.unset"
	FormUp      ID = "form.scroll_up"
	FormDown    ID = "form.scroll_down"

	ChangeYes  ID = "change.yes"
	ChangeNo   ID = "change.no"
	ChangeSave ID = "change.session_only"
)

// later is why screens that do not exist yet cannot be opened.
const later = "this screen is not part of this version"

var registry = []Action{
	{ID: Interrupt, Title: "Clear, then interrupt, then quit", Context: Always, Keys: []string{"ctrl+c"}},
	{ID: Suspend, Title: "Suspend", Context: Always, Keys: []string{"ctrl+z"}, Palette: true},
	{ID: Redraw, Title: "Redraw the screen", Context: Always, Keys: []string{"ctrl+l"}, Palette: true},

	{ID: Palette, Title: "Command palette", Context: Global, Keys: []string{"ctrl+p"}},
	{ID: Help, Title: "Help", Context: Global, Keys: []string{"f1"}, Palette: true},
	{ID: LeaderKey, Title: "Leader: then b c l s g n", Context: Global, Keys: []string{"ctrl+x"}},
	{ID: OpenMain, Title: "Conversation", Context: Global, Palette: true},
	{ID: OpenBindings, Title: "Bindings", Context: Global, Keys: []string{"f2"}, Palette: true},
	{ID: OpenCatalog, Title: "Catalog", Context: Global, Keys: []string{"f3"}, Palette: true},
	{ID: OpenLedger, Title: "Ledger and pins", Context: Global, Keys: []string{"f4"}, Palette: true, Disabled: later + "; `looprig ledger verify` and `looprig ledger tail` read the ledger"},
	{ID: OpenSessions, Title: "Sessions", Context: Global, Keys: []string{"f5"}, Palette: true},
	{ID: OpenGate, Title: "Oldest open gate", Context: Global, Keys: []string{"f6"}, Palette: true},
	{ID: OpenNotices, Title: "Notices, stderr and logs", Context: Global, Keys: []string{"f7"}, Palette: true},
	{ID: GetPrompt, Title: "Get a prompt", Context: Global, Palette: true},
	{ID: ReadResource, Title: "Read a resource", Context: Global, Palette: true},
	{ID: NextPane, Title: "Next pane", Context: Global, Keys: []string{"shift+tab"}},
	{ID: Back, Title: "One level out, or interrupt", Context: Global, Keys: []string{"esc"}},
	{ID: Quit, Title: "Quit", Context: Global, Palette: true},

	{ID: "leader.bindings", Title: "Bindings", Context: Leader, Keys: []string{"b"}},
	{ID: "leader.catalog", Title: "Catalog", Context: Leader, Keys: []string{"c"}},
	{ID: "leader.ledger", Title: "Ledger and pins", Context: Leader, Keys: []string{"l"}, Disabled: later},
	{ID: "leader.sessions", Title: "Sessions", Context: Leader, Keys: []string{"s"}},
	{ID: "leader.gate", Title: "Oldest open gate", Context: Leader, Keys: []string{"g"}},
	{ID: "leader.notices", Title: "Notices, stderr and logs", Context: Leader, Keys: []string{"n"}},

	{ID: Send, Title: "Send", Context: Composer, Keys: []string{"enter"}},
	{ID: Newline, Title: "New line", Context: Composer, Keys: []string{"shift+enter", "alt+enter", "ctrl+j"}},
	{ID: Complete, Title: "Complete a command or a tool", Context: Composer, Keys: []string{"tab"}},
	{ID: HistoryBack, Title: "Earlier input (at the first line)", Context: Composer, Keys: []string{"up"}},
	{ID: HistoryOn, Title: "Later input (at the last line)", Context: Composer, Keys: []string{"down"}},
	{ID: HistorySearch, Title: "Search the input history", Context: Composer, Keys: []string{"ctrl+r"}},
	{ID: Editor, Title: "Edit in $EDITOR", Context: Composer, Keys: []string{"ctrl+o"}, Palette: true},
	{ID: QuitEmpty, Title: "Quit when empty (twice)", Context: Composer, Keys: []string{"ctrl+d"}},

	{ID: LineDown, Title: "Line down", Context: Transcript, Keys: []string{"j", "down"}},
	{ID: LineUp, Title: "Line up", Context: Transcript, Keys: []string{"k", "up"}},
	{ID: ItemDown, Title: "Next item", Context: Transcript, Keys: []string{"J"}},
	{ID: ItemUp, Title: "Previous item", Context: Transcript, Keys: []string{"K"}},
	{ID: HalfDown, Title: "Half a page down", Context: Transcript, Keys: []string{"ctrl+d", "pgdown"}},
	{ID: HalfUp, Title: "Half a page up", Context: Transcript, Keys: []string{"ctrl+u", "pgup"}},
	{ID: Top, Title: "First item", Context: Transcript, Keys: []string{"g", "home"}},
	{ID: Follow, Title: "Last item, and follow", Context: Transcript, Keys: []string{"G", "end"}},
	{ID: Expand, Title: "Expand or fold", Context: Transcript, Keys: []string{"enter", "space"}},
	{ID: CopyItem, Title: "Copy the item", Context: Transcript, Keys: []string{"y"}},
	{ID: CopyRaw, Title: "Copy the item as raw JSON", Context: Transcript, Keys: []string{"Y"}},
	{ID: OpenItem, Title: "The whole item in a pager", Context: Transcript, Keys: []string{"o"}},
	{ID: UseItem, Title: "Put a prompt or a resource into the composer", Context: Transcript, Keys: []string{"i"}},
	{ID: Search, Title: "Search", Context: Transcript, Keys: []string{"/"}},
	{ID: SearchOn, Title: "Next match", Context: Transcript, Keys: []string{"n"}},
	{ID: SearchOff, Title: "Previous match", Context: Transcript, Keys: []string{"N"}},
	{ID: "transcript.help", Title: "Help", Context: Transcript, Keys: []string{"?"}},

	{ID: BindingAdd, Title: "Add a binding", Context: Bindings, Keys: []string{"a"}, Palette: true},
	{ID: BindingToggle, Title: "Enable or disable the binding", Context: Bindings, Keys: []string{"e"}},
	{ID: BindingReplace, Title: "Replace the binding", Context: Bindings, Keys: []string{"r"}},
	{ID: BindingRemove, Title: "Remove the binding", Context: Bindings, Keys: []string{"x"}},
	{ID: BindingReconnect, Title: "Reconnect the binding now", Context: Bindings, Keys: []string{"R"}},
	{ID: BindingDetail, Title: "Detail", Context: Bindings, Keys: []string{"enter"}},
	{ID: BindingFilter, Title: "Filter", Context: Bindings, Keys: []string{"/"}},
	{ID: BindingCatalog, Title: "Catalog of the binding", Context: Bindings, Keys: []string{"c"}},
	{ID: BindingStderr, Title: "What the server wrote to stderr", Context: Bindings, Keys: []string{"E"}},
	{ID: BindingLogs, Title: "Log messages of the server", Context: Bindings, Keys: []string{"L"}},
	{ID: BindingTrace, Title: "Raw protocol messages, secrets masked", Context: Bindings, Keys: []string{"T"}},
	{ID: "bindings.help", Title: "Help", Context: Bindings, Keys: []string{"?"}},

	{ID: CatalogUse, Title: "Call the tool, get the prompt, read the resource, fill in the template", Context: Catalog, Keys: []string{"c"}},
	{ID: CatalogDetail, Title: "Description and schema", Context: Catalog, Keys: []string{"enter"}},
	{ID: CatalogKindOn, Title: "Next kind: tools, prompts, resources, templates", Context: Catalog, Keys: []string{"]", "right"}},
	{ID: CatalogKindBack, Title: "Previous kind", Context: Catalog, Keys: []string{"[", "left"}},
	{ID: CatalogFilter, Title: "Filter", Context: Catalog, Keys: []string{"/"}},
	{ID: CatalogCompare, Title: "What changed since the generation before", Context: Catalog, Keys: []string{"d"}},
	{ID: CatalogOlder, Title: "An older generation", Context: Catalog, Keys: []string{"<"}},
	{ID: CatalogNewer, Title: "A newer generation", Context: Catalog, Keys: []string{">"}},
	{ID: CatalogWatch, Title: "Report changes of the resource, or no longer", Context: Catalog, Keys: []string{"s"}},
	{ID: CatalogRaw, Title: "Raw JSON of the item", Context: Catalog, Keys: []string{"J"}},
	{ID: CatalogCopy, Title: "Copy the name", Context: Catalog, Keys: []string{"y"}},
	{ID: CatalogNext, Title: "Next binding", Context: Catalog, Keys: []string{"tab"}},
	{ID: "catalog.help", Title: "Help", Context: Catalog, Keys: []string{"?"}},

	{ID: ListUp, Title: "Up", Context: List, Keys: []string{"up", "ctrl+p"}},
	{ID: ListDown, Title: "Down", Context: List, Keys: []string{"down", "ctrl+n"}},
	{ID: ListPgUp, Title: "Page up", Context: List, Keys: []string{"pgup"}},
	{ID: ListPgDn, Title: "Page down", Context: List, Keys: []string{"pgdown"}},
	{ID: ListPick, Title: "Choose", Context: List, Keys: []string{"enter"}},
	{ID: ListClose, Title: "Close", Context: List, Keys: []string{"esc"}},

	{ID: NoticesFilter, Title: "Filter", Context: Notices, Keys: []string{"/"}},
	{ID: NoticesNotices, Title: "Notices, or none", Context: Notices, Keys: []string{"n"}},
	{ID: NoticesStderr, Title: "Stderr, or none", Context: Notices, Keys: []string{"s"}},
	{ID: NoticesLogs, Title: "Logs, or none", Context: Notices, Keys: []string{"l"}},

	{ID: FetchedInsert, Title: "Put it into the composer", Context: Fetched, Keys: []string{"enter"}},
	{ID: FetchedCopy, Title: "Copy it", Context: Fetched, Keys: []string{"y"}},
	{ID: SessionFork, Title: "Go on with a copy", Context: Sessions, Keys: []string{"ctrl+f"}},
	{ID: SessionDelete, Title: "Delete for good (twice)", Context: Sessions, Keys: []string{"ctrl+x"}},

	{ID: PermitOnce, Title: "Allow once", Context: GatePermission, Keys: []string{"a"}},
	{ID: PermitSession, Title: "Allow for this session", Context: GatePermission, Keys: []string{"s"}},
	{ID: PermitRead, Title: "Allow the server's read-only tools for this session", Context: GatePermission, Keys: []string{"r"}},
	{ID: PermitAlways, Title: "Allow always, until the tool's definition changes", Context: GatePermission, Keys: []string{"A"}},
	{ID: PermitExact, Title: "Grant any arguments, or exactly these", Context: GatePermission, Keys: []string{"x"}},
	{ID: PermitDeny, Title: "Deny", Context: GatePermission, Keys: []string{"d"}},
	{ID: PermitReason, Title: "Deny and tell the model why", Context: GatePermission, Keys: []string{"e"}},
	{ID: PermitFull, Title: "All arguments, full screen", Context: GatePermission, Keys: []string{"f"}},
	{ID: PermitToggle, Title: "Check or uncheck a call", Context: GatePermission, Keys: []string{"space"}},
	{ID: PermitChoose, Title: "Take the selected choice", Context: GatePermission, Keys: []string{"enter"}},
	{ID: PermitLater, Title: "Minimise to the queue", Context: GatePermission, Keys: []string{"esc"}},

	{ID: ConfirmYes, Title: "Yes", Context: GateConfirm, Keys: []string{"y"}},
	{ID: ConfirmNo, Title: "No", Context: GateConfirm, Keys: []string{"n"}},
	{ID: ConfirmCancel, Title: "Cancel", Context: GateConfirm, Keys: []string{"esc"}},

	{ID: URLOpen, Title: "Open in the browser", Context: GateURL, Keys: []string{"o"}},
	{ID: URLCopy, Title: "Copy the address and answer accepted", Context: GateURL, Keys: []string{"y"}},
	{ID: URLFull, Title: "Show the full address", Context: GateURL, Keys: []string{"v"}},
	{ID: URLDecline, Title: "Decline", Context: GateURL, Keys: []string{"d"}},
	{ID: URLCancel, Title: "Cancel", Context: GateURL, Keys: []string{"esc"}},

	{ID: ServerAccept, Title: "Accept exactly this fingerprint", Context: GateServer, Keys: []string{"a"}},
	{ID: ServerOnce, Title: "Start once, accept nothing", Context: GateServer, Keys: []string{"o"}},
	{ID: ServerRefuse, Title: "Refuse", Context: GateServer, Keys: []string{"d"}},
	{ID: ServerLater, Title: "Minimise to the queue", Context: GateServer, Keys: []string{"esc"}},

	{ID: SamplingRun, Title: "Run, or send the reply", Context: GateSampling, Keys: []string{"r"}},
	{ID: SamplingEdit, Title: "Edit first", Context: GateSampling, Keys: []string{"e"}},
	{ID: SamplingDecline, Title: "Decline", Context: GateSampling, Keys: []string{"d"}},
	{ID: SamplingCancel, Title: "Cancel", Context: GateSampling, Keys: []string{"esc"}},
	{ID: SamplingFull, Title: "Everything, full screen", Context: GateSampling, Keys: []string{"f"}},

	{ID: FormNext, Title: "Next field", Context: Form, Keys: []string{"tab"}},
	{ID: FormPrev, Title: "Previous field", Context: Form, Keys: []string{"shift+tab"}},
	{ID: FormSubmit, Title: "Submit", Context: Form, Keys: []string{"ctrl+s"}},
	{ID: FormDecline, Title: "Decline", Context: Form, Keys: []string{"ctrl+d"}},
	{ID: FormCancel, Title: "Cancel", Context: Form, Keys: []string{"esc"}},
	{ID: FormUnset, Title: "Back to the default, or unset", Context: Form, Keys: []string{"ctrl+x"}},
	{ID: FormUp, Title: "Read what is above", Context: Form, Keys: []string{"alt+up", "pgup"}},
	{ID: FormDown, Title: "Back down to the field", Context: Form, Keys: []string{"alt+down", "pgdown"}},

	{ID: ChangeYes, Title: "Yes", Context: Confirm, Keys: []string{"y"}},
	{ID: ChangeNo, Title: "No", Context: Confirm, Keys: []string{"n", "esc"}},
	{ID: ChangeSave, Title: "This session only, or save", Context: Confirm, Keys: []string{"s"}},
}
