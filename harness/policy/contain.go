package policy

// covers reports that whatever q matches is matched by p. It never says so
// wrongly.
func (p pattern) covers(q pattern) bool {
	return globCovers(p.source, q.source) && globCovers(p.binding, q.binding) && globCovers(p.name, q.name)
}

// token is one unit of a glob: a character, or with wild '?' or '*'.
type token struct {
	r    rune
	wild rune
}

// tokens splits a glob. In a run of wildcards the single ones come first and one
// star is left: "*?*" is "?*".
func tokens(g string) []token {
	var out []token
	rs := []rune(g)
	star := false
	flush := func() {
		if star {
			out = append(out, token{wild: '*'})
		}
		star = false
	}
	for i := 0; i < len(rs); i++ {
		switch {
		case rs[i] == '*':
			star = true
			continue
		case rs[i] == '?':
			out = append(out, token{wild: '?'})
			continue
		case rs[i] == '\\' && i+1 < len(rs):
			i++
		}
		flush()
		out = append(out, token{r: rs[i]})
	}
	flush()
	return out
}

// globCovers reports that every text that b matches is matched by a. Its cost is
// the product of the lengths.
func globCovers(a, b string) bool {
	x, y := tokens(a), tokens(b)
	// fits[j] is whether x[i:] covers y[j:].
	fits := make([]bool, len(y)+1)
	fits[len(y)] = true
	for i := len(x) - 1; i >= 0; i-- {
		next := make([]bool, len(y)+1)
		if x[i].wild == '*' {
			next[len(y)] = fits[len(y)]
			for j := len(y) - 1; j >= 0; j-- {
				next[j] = fits[j] || next[j+1]
			}
		} else {
			for j := len(y) - 1; j >= 0; j-- {
				next[j] = fits[j+1] && coversOne(x[i], y[j])
			}
		}
		fits = next
	}
	return fits[0]
}

// coversOne reports that a token which is no star covers another.
func coversOne(x, y token) bool {
	if y.wild == '*' {
		return false
	}
	return x.wild == '?' || (y.wild == 0 && x.r == y.r)
}
