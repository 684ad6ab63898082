//go:build ignore

// This program reads manifests strictly with Kubernetes' own types. It exits with 1 for an unknown field or a value
// of another kind. Its module is .ci/check.mod.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the allowed kinds of manifests.
var kinds = map[string]func() any{
	"v1 ConfigMap": func() any { return &core.ConfigMap{} }, "v1 Secret": func() any { return &core.Secret{} },
	"v1 Service": func() any { return &core.Service{} }, "apps/v1 Deployment": func() any { return &apps.Deployment{} },
	"policy/v1 PodDisruptionBudget": func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1 Ingress":  func() any { return &networking.Ingress{} },
	"v1 PersistentVolumeClaim":      func() any { return &core.PersistentVolumeClaim{} },
	"batch/v1 CronJob":              func() any { return &batch.CronJob{} },
}

func main() {
	var all []error
	for _, path := range os.Args[1:] {
		all = append(all, check(path))
	}
	if err := errors.Join(all...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all []error
	for i, one := range strings.Split(string(text), "\n---\n") {
		if err := manifest([]byte(one)); err != nil {
			all = append(all, fmt.Errorf("%s: manifest %d: %w", path, i+1, err))
		}
	}
	return errors.Join(all...)
}

func manifest(text []byte) error {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	kind := head.APIVersion + " " + head.Kind
	if kinds[kind] == nil {
		return fmt.Errorf("%q is no kind that is known here", kind)
	}
	return yaml.UnmarshalStrict(text, kinds[kind]())
}
