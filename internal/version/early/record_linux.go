package early

import "os"

// The parts of a 64-bit little-endian ELF file that lead to the record.
const (
	elfMagic      = "\x7fELF\x02\x01"
	elfHeader     = 64
	segmentsAt    = 32 // offset of the table of segments
	segmentSize   = 54 // size of one of its entries
	segmentCount  = 56
	typeLoad      = 1
	flagWritable  = 2
	maxSegments   = 32
	segmentFlags  = 4 // within an entry
	segmentOffset = 8
	segmentEntry  = 56
)

// recorded is the version that the build recorded in the program's file, "dev"
// when it recorded none, and "" when the file is not understood.
func recorded() string {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, elfHeader+maxSegments*segmentEntry)
	n, _ := f.ReadAt(head, 0)
	at := firstWritable(head[:n])
	if at <= 0 {
		return ""
	}
	record := make([]byte, maxRecord)
	n, _ = f.ReadAt(record, at)
	return mainVersion(record[:n])
}

// firstWritable is where the first writable segment stands in the file; 0 when
// the beginning of the file does not say.
func firstWritable(head []byte) int64 {
	if len(head) < elfHeader || string(head[:len(elfMagic)]) != elfMagic {
		return 0
	}
	table, size, count := number(head[segmentsAt:], 8), number(head[segmentSize:], 2), number(head[segmentCount:], 2)
	if table < 0 || size != segmentEntry || count > maxSegments || table+count*size > int64(len(head)) {
		return 0
	}
	for i := range count {
		entry := head[table+i*size:]
		if number(entry, 4) == typeLoad && number(entry[segmentFlags:], 4)&flagWritable != 0 {
			return number(entry[segmentOffset:], 8)
		}
	}
	return 0
}

// number reads a little-endian number of that many bytes.
func number(b []byte, size int) int64 {
	var v int64
	for i := range size {
		v |= int64(b[i]) << (8 * i)
	}
	return v
}
