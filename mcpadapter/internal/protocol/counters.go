package protocol

// The codes that Handlers.Dropped reports.
const (
	droppedMalformed     = "malformed_frame"
	droppedOversize      = "oversized_frame"
	droppedLate          = "late_reply"
	droppedDouble        = "duplicate_reply"
	droppedUnknownID     = "unknown_id"
	droppedWrongID       = "wrong_type_id"
	droppedProgressToken = "unknown_progress_token"
	droppedProgressValue = "progress_value"
	droppedProgressFull  = "progress_overflow"
	droppedLog           = "log_overflow"
	droppedLogSize       = "log_over_limit"
	droppedUpdate        = "resource_update_overflow"
	droppedComplete      = "elicitation_complete_overflow"
	droppedNotification  = "unusable_notification"
	droppedUnknown       = "unknown_notification"
	droppedReply         = "reply_overflow"
	droppedEarly         = "request_before_ready"
	droppedNullItem      = "null_item"
	droppedPanic         = "handler_panic"
)

// The codes that Handlers.Tolerated reports.
const (
	toleratedNullMember    = "null_error_or_result"
	toleratedNullListing   = "null_listing"
	toleratedNullCursor    = "null_cursor"
	toleratedNullContent   = "null_content"
	toleratedNoContent     = "no_content"
	toleratedNoServerInfo  = "no_server_info"
	toleratedNoCaps        = "no_capabilities"
	toleratedElicitationID = "no_elicitation_id"
	toleratedUndeclared    = "undeclared_list_changed"
	toleratedNoListen      = "no_listen_stream"
	toleratedStaleHeaders  = "stale_tool_headers"
)
