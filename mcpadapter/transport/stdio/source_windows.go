package stdio

import (
	"io"
	"os"
)

// readNow cannot tell an empty pipe from a slow one here, so the stream ends.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }
