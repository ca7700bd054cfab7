// Command engine renders charts and reads and writes YAML with Helm's own packages, and says how
// long each repetition took. It reads one request per line on stdin and answers each with one line
// of JSON, so that the caller can let it take turns with what it is compared to.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// longestLine bounds a request; a YAML text is part of it.
const longestLine = 64 << 20

type request struct {
	// Chart is the folder to render; without it Text is read and written as YAML.
	Chart string
	Text  string

	Values      string
	Name        string
	Namespace   string
	Revision    int
	IsInstall   bool
	IsUpgrade   bool
	KubeVersion string
	APIVersions []string
	HelmVersion helmVersion

	// Repetitions go on until both are reached.
	MinRuns   int
	MinMillis int
}

type helmVersion struct {
	Version, GitCommit, GitTreeState, GoVersion, KubeClientVersion string
}

type answer struct {
	Error string `json:",omitempty"`
	// Digest is that of what came out, to compare.
	Digest string `json:",omitempty"`

	// Nanoseconds: once for loading and for the dependencies, then per repetition.
	Load         int64   `json:",omitempty"`
	Dependencies int64   `json:",omitempty"`
	Values       []int64 `json:",omitempty"`
	Render       []int64 `json:",omitempty"`
	Read         []int64 `json:",omitempty"`
	Write        []int64 `json:",omitempty"`
}

func main() {
	// One thread, its garbage collector included.
	runtime.GOMAXPROCS(1)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, longestLine)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var req request
		if err := json.Unmarshal(in.Bytes(), &req); err != nil {
			fail(err)
		}
		result, err := serve(&req)
		if err != nil {
			result = answer{Error: err.Error()}
		}
		if err := out.Encode(result); err != nil {
			fail(err)
		}
	}
	if err := in.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "engine:", err)
	os.Exit(1)
}

func serve(req *request) (answer, error) {
	if req.Chart == "" {
		return readAndWrite(req)
	}
	return render(req)
}

// repeat calls run until the request's bounds are reached.
func repeat(req *request, run func() error) error {
	start := time.Now()
	least := time.Duration(req.MinMillis) * time.Millisecond
	for runs := 0; runs < req.MinRuns || time.Since(start) < least; runs++ {
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

func render(req *request) (answer, error) {
	var result answer
	caps, err := capabilities(req)
	if err != nil {
		return result, err
	}

	start := time.Now()
	chart, err := loader.Load(req.Chart)
	if err != nil {
		return result, err
	}
	user := map[string]any{}
	if req.Values != "" {
		text, err := os.ReadFile(req.Values)
		if err != nil {
			return result, err
		}
		if user, err = loader.LoadValues(bytes.NewReader(text)); err != nil {
			return result, err
		}
	}
	result.Load = time.Since(start).Nanoseconds()

	// This changes the chart, so it cannot be repeated.
	start = time.Now()
	if err := chartutil.ProcessDependencies(chart, user); err != nil {
		return result, err
	}
	result.Dependencies = time.Since(start).Nanoseconds()

	options := common.ReleaseOptions{
		Name:      req.Name,
		Namespace: req.Namespace,
		Revision:  req.Revision,
		IsInstall: req.IsInstall,
		IsUpgrade: req.IsUpgrade,
	}
	var files map[string]string
	runtime.GC()
	err = repeat(req, func() error {
		start := time.Now()
		// Anew each time: templates may change the values that they are given.
		values, err := util.ToRenderValuesWithSchemaValidation(chart, user, options, caps, true)
		if err != nil {
			return err
		}
		between := time.Now()
		files, err = engine.Render(chart, values)
		end := time.Now()
		result.Values = append(result.Values, between.Sub(start).Nanoseconds())
		result.Render = append(result.Render, end.Sub(between).Nanoseconds())
		return err
	})
	result.Digest = digest(files)
	return result, err
}

func capabilities(req *request) (*common.Capabilities, error) {
	caps := common.DefaultCapabilities.Copy()
	if req.KubeVersion != "" {
		version, err := common.ParseKubeVersion(req.KubeVersion)
		if err != nil {
			return nil, err
		}
		caps.KubeVersion = *version
	}
	caps.APIVersions = append(slices.Clone(caps.APIVersions), req.APIVersions...)
	caps.HelmVersion.Version = req.HelmVersion.Version
	caps.HelmVersion.GitCommit = req.HelmVersion.GitCommit
	caps.HelmVersion.GitTreeState = req.HelmVersion.GitTreeState
	caps.HelmVersion.GoVersion = req.HelmVersion.GoVersion
	caps.HelmVersion.KubeClientVersion = req.HelmVersion.KubeClientVersion
	return caps, nil
}

// digest covers every file but the partials, whose text Helm has as empty.
func digest(files map[string]string) string {
	names := make([]string, 0, len(files))
	for name := range files {
		if !strings.HasPrefix(path.Base(name), "_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s\x00%s\x00", name, files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func readAndWrite(req *request) (answer, error) {
	var result answer
	var text []byte
	source := []byte(req.Text)
	runtime.GC()
	err := repeat(req, func() error {
		var values map[string]any
		start := time.Now()
		if err := yaml.Unmarshal(source, &values); err != nil {
			return err
		}
		between := time.Now()
		var err error
		text, err = yaml.Marshal(values)
		end := time.Now()
		result.Read = append(result.Read, between.Sub(start).Nanoseconds())
		result.Write = append(result.Write, end.Sub(between).Nanoseconds())
		if len(values) == 0 {
			return errors.New("nothing in it")
		}
		return err
	})
	sum := sha256.Sum256(text)
	result.Digest = hex.EncodeToString(sum[:])
	return result, err
}
