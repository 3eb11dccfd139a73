package early

func probe(b []byte) { firstWritable(b) }
