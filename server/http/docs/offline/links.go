package offline

import (
	"path"
	"strings"

	"rail/server/http/docs/guides"
	"rail/server/http/docs/layout"
)

// aim records the targets of the links in the texts.
func (x *export) aim() {
	x.targets["/docs"] = referenceFolder + "/index.html"
	x.targets["/docs/guides"] = guidesFolder + "/index.html"
	for _, g := range guides.All() {
		file := guidesFolder + "/" + g.Name + ".html"
		x.targets["server/http/docs/guides/"+g.Name+".md"] = file
		x.targets["/docs/guides/"+g.Name] = file
	}
	for _, p := range operation {
		x.targets[p.source] = operationFolder + "/" + p.name + ".html"
	}
	for _, name := range pictures {
		x.targets[name] = operationFolder + "/" + path.Base(name)
	}
}

// follow returns the targets of links in a file of the repository, relative to its page. A link to a file that is not
// exported becomes its words.
func (x *export) follow(source string) layout.Follow {
	return func(to string) (string, bool) {
		if strings.HasPrefix(to, "#") || strings.Contains(to, "://") {
			return to, true
		}
		file, anchor, found := strings.Cut(to, "#")
		if !path.IsAbs(file) {
			file = path.Join(path.Dir(source), file)
		}
		target, ok := x.targets[file]
		if !ok {
			return "", false
		}
		if found {
			anchor = "#" + anchor
		}
		return relative(x.targets[source], target) + anchor, true
	}
}

// relative returns the way from one file to another.
func relative(from, to string) string {
	if path.Dir(from) == path.Dir(to) {
		return path.Base(to)
	}
	return up(from) + to
}

// up returns the way from a file to the folder of the export.
func up(from string) string { return strings.Repeat("../", strings.Count(from, "/")) }
