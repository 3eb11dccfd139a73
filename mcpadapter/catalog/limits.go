package catalog

// Limits bound one discovery. A zero field means that its default applies.
type Limits struct {
	Tools, Prompts, Resources, Templates int // 1024, 256, 4096, 1024
	Pages                                int // pages of one listing: 64
	CursorBytes                          int // 4 KiB
	PageBytes                            int // 4 MiB
	CatalogBytes                         int // all pages together: 8 MiB
	SchemaBytes, SchemaDepth             int // 256 KiB, 32
	SchemaNodes                          int // 10,000
	JSONDepth                            int // 64
	NameBytes, TitleBytes                int // 512, 256
	DescriptionBytes, InstructionsBytes  int // 64 KiB each
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		v   *int
		def int
	}{
		{&l.Tools, 1024}, {&l.Prompts, 256}, {&l.Resources, 4096}, {&l.Templates, 1024}, {&l.Pages, 64},
		{&l.CursorBytes, 4 << 10}, {&l.PageBytes, 4 << 20}, {&l.CatalogBytes, 8 << 20},
		{&l.SchemaBytes, 256 << 10}, {&l.SchemaDepth, 32}, {&l.SchemaNodes, 10_000}, {&l.JSONDepth, 64},
		{&l.NameBytes, 512}, {&l.TitleBytes, 256}, {&l.DescriptionBytes, 64 << 10}, {&l.InstructionsBytes, 64 << 10},
	} {
		if *f.v <= 0 {
			*f.v = f.def
		}
	}
	return l
}
