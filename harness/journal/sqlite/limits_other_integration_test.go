//go:build integration && !unix

package sqlite_test

func limitFiles(uint64) {}
