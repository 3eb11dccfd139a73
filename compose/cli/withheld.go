package cli

import (
	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
)

// offered refuses a call of a tool that the server has and that is not offered,
// with the reason: by its name alone it would look like one that does not exist.
func offered(a *compose.App, binding, name string) error {
	cat, _ := a.Port.Catalog(binding, 0)
	return withheldIn(cat, binding, name)
}

func withheldIn(cat integration.Catalog, binding, name string) error {
	for _, item := range cat.Items {
		if item.Kind == "tool" && item.Withheld != "" && (item.Name == name || item.ModelName == name) {
			return exit.New(exit.Usage, "the tool %s of %s is withheld: %s", safetext.Ident(item.Name), binding, safetext.ToLine(item.Withheld)).
				WithHint("looprig inspect %s shows what is offered", binding)
		}
	}
	return nil
}
