package journal

// StorageError says that the place of the store cannot be used: it is full,
// cannot be written or fails. What is stored already is not in doubt.
type StorageError struct {
	// Reason is what is wrong, Fix what a person can do.
	Reason, Fix string
	Err         error
}

func (e *StorageError) Error() string { return e.Reason }

func (e *StorageError) Unwrap() error { return e.Err }
