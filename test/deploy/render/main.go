// Renders a chart as `helm template RELEASE CHART --values FILE` does, for charts that use no more of Helm than ours. The workflow
// compares Helm's own output with the same files.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

// In this order Helm installs kinds, and prints them.
var ranks = map[string]int{
	"NetworkPolicy": 0, "PodDisruptionBudget": 1, "ConfigMap": 2, "Service": 3, "Pod": 4, "Deployment": 5, "Job": 6,
	"Ingress": 7, "ServiceMonitor": 8,
}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func parse(text []byte) object {
	var document object
	must(0, yaml.Unmarshal(text, &document))
	return document
}

// Values of the user replace those of the chart; objects are merged, and null removes.
func merged(values, over object) object {
	for name, value := range over {
		below, isObject := values[name].(object)
		if more, ok := value.(object); ok && isObject {
			values[name] = merged(below, more)
		} else if value == nil {
			delete(values, name)
		} else {
			values[name] = value
		}
	}
	return values
}

func functions(templates *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	all["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := templates.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all["toYaml"] = func(value interface{}) string { return strings.TrimSuffix(string(must(yaml.Marshal(value))), "\n") }
	all["fromYaml"] = func(text string) object { return parse([]byte(text)) }
	return all
}

type manifest struct {
	file, text string
	rank       int
	isHook     bool
}

func manifestOf(file, text string) manifest {
	document := parse([]byte(text))
	rank, isKnown := ranks[document["kind"].(string)]
	if !isKnown {
		must(0, fmt.Errorf("%s: add the kind %v where Helm's InstallOrder has it", file, document["kind"]))
	}
	annotations, _ := document["metadata"].(object)["annotations"].(object)
	_, isHook := annotations["helm.sh/hook"]
	return manifest{file, strings.TrimSpace(text), rank, isHook}
}

func main() {
	if len(os.Args) < 3 {
		must(0, fmt.Errorf("usage: render RELEASE CHART [VALUES]"))
	}
	folder := os.Args[2]
	chart := parse(must(os.ReadFile(filepath.Join(folder, "Chart.yaml"))))
	values := parse(must(os.ReadFile(filepath.Join(folder, "values.yaml"))))
	for _, file := range os.Args[3:] {
		values = merged(values, parse(must(os.ReadFile(file))))
	}
	templates := template.New("chart").Option("missingkey=error")
	templates.Funcs(functions(templates))
	var files []string
	for _, pattern := range []string{"templates/*", "templates/tests/*"} {
		for _, path := range must(filepath.Glob(filepath.Join(folder, pattern))) {
			if filepath.Ext(path) == "" {
				continue
			}
			file := filepath.ToSlash(must(filepath.Rel(folder, path)))
			must(templates.New(file).Parse(string(must(os.ReadFile(path)))))
			files = append(files, file)
		}
	}
	sort.Strings(files)
	data := object{
		"Values":  values,
		"Chart":   object{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
		"Release": object{"Name": os.Args[1], "Namespace": "default", "Service": "Helm"},
	}
	var manifests []manifest
	for _, file := range files {
		var out bytes.Buffer
		must(0, templates.ExecuteTemplate(&out, file, data))
		for _, text := range separator.Split(out.String(), -1) {
			if strings.HasSuffix(file, ".yaml") && strings.TrimSpace(text) != "" {
				manifests = append(manifests, manifestOf(chart["name"].(string)+"/"+file, text))
			}
		}
	}
	sort.SliceStable(manifests, func(a, b int) bool {
		if manifests[a].isHook != manifests[b].isHook {
			return manifests[b].isHook
		}
		return manifests[a].rank < manifests[b].rank
	})
	for _, one := range manifests {
		fmt.Printf("---\n# Source: %s\n%s\n", one.file, one.text)
	}
}
