package golang_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/cmd/clients/golang"
	"rail/cmd/clients/model"
	"rail/cmd/clients/story"
	"rail/gen/client"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// described returns the model of the description.
func described(t *testing.T) *model.Model {
	t.Helper()
	bundle, err := os.ReadFile("../../../openapi/bundle.json")
	require.NoError(t, err)
	m, err := model.Read(bundle)
	require.NoError(t, err)
	return m
}

// write writes files to a new folder in dir.
func write(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}

// program returns a folder with the released module and a program that imports it, as the README shows. Nothing in it
// belongs to Rail's own module.
func program(t *testing.T, source string) string {
	t.Helper()
	files, err := golang.Files(described(t))
	require.NoError(t, err)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "client"), golang.Module(files, "v1.2.3"))
	app := filepath.Join(dir, "app")
	write(t, app, map[string][]byte{
		"main.go": []byte(source),
		"go.mod":  []byte("module app\n\ngo 1.24\n\nrequire rail/client v0.0.0\n\nreplace rail/client => ../client\n"),
	})
	return app
}

// command returns a go command in a folder, without any network.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

// TestStory tells the story with the released module.
func TestStory(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("story/main.go")
	require.NoError(t, err)
	dir := program(t, strings.Replace(string(source), `"rail/gen/client"`, `"`+golang.Path+`"`, 1))
	out, err := command(t, dir, "build", "-o", "story", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	story.Run(t, "rail-go/1.2.3 ", func(w story.World) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "story"))
		cmd.Env = w.Environ()
		return cmd.CombinedOutput()
	})
}

// TestSamples compiles the sample of every method and runs it against a server that compares its request with the
// example of the description. It refuses a mistake in one of them: otherwise samples that are not compiled would pass.
func TestSamples(t *testing.T) {
	t.Parallel()
	m := described(t)
	var functions, calls strings.Builder
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			_, setup, _ := strings.Cut(golang.Setup(method), "\n\n") // less the import, which is below
			functions.WriteString("\nfunc " + method.OperationID + "(ctx context.Context) error {\n" +
				setup + golang.Sample(m, method) + "\nreturn nil\n}\n")
			calls.WriteString(method.OperationID + "(ctx),\n")
		}
	}
	source := "package main\n\nimport (\n\"context\"\n\"errors\"\n\"fmt\"\n\"os\"\n\"time\"\n\n\"rail/client\"\n)\n\n" +
		"func main() {\nctx := context.Background()\nif err := errors.Join(\n" + calls.String() +
		"); err != nil {\nfmt.Println(err)\nos.Exit(1)\n}\n}\n" + functions.String()
	dir := program(t, source)
	out, err := command(t, dir, "build", "-o", "samples", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	server := story.NewExamples(t, m)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "samples"))
	cmd.Env = append(os.Environ(), "RAIL_BASE_URL="+server.URL, "RAIL_API_KEY=rail_live_1")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	server.Done(t)

	wrong := strings.Replace(source, "Email:", "Mail:", 1)
	require.NotEqual(t, source, wrong)
	write(t, dir, map[string][]byte{"main.go": []byte(wrong)})
	out, err = command(t, dir, "vet", ".").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "unknown field Mail")
}

// TestErrorsInAnswers reads the error of one item of a batch, which has the type of other errors.
func TestErrorsInAnswers(t *testing.T) {
	t.Parallel()
	raw := `{"data":[{"index":0,"status":404,"error":{"type":"not_found_error","code":"resource_not_found","message":"No."}}]}`
	var result client.SaleBatchResult
	require.NoError(t, json.Unmarshal([]byte(raw), &result))
	require.ErrorIs(t, result.Data[0].Error, client.ErrorCodeResourceNotFound)
}

// TestOffset walks a list from an offset. The API refuses an offset beside a cursor.
func TestOffset(t *testing.T) {
	t.Parallel()
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.URL.RawQuery)
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"rsk_%d"}],"has_more":%t}`, len(requests), len(requests) == 1)
	}))
	t.Cleanup(server.Close)
	rail, err := client.New(server.URL, "key")
	require.NoError(t, err)
	for _, err := range rail.RiskFlags.List(t.Context(), client.ListRiskFlagsParams{ProgramID: "prg_1", Offset: 50}) {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"offset=50&program_id=prg_1", "program_id=prg_1&starting_after=rsk_1"}, requests)
}

// TestEvents reads the example of every event. Its data has the type of its name, with all members of the example.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, e := range described(t).Events {
		raw := model.JSON.Write(e.Example, "", 0)
		event, err := client.ParseEvent([]byte(raw))
		require.NoError(t, err, e.Name)
		require.Equal(t, "*client."+e.Data, fmt.Sprintf("%T", event.Data))
		var want struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(raw), &want))
		got, err := json.Marshal(event.Data)
		require.NoError(t, err)
		require.Equal(t, story.Plain(t, string(want.Data)), story.Plain(t, string(got)), e.Name)
	}
	event, err := client.ParseEvent([]byte(`{"id":"evt_1","type":"moon.rose","data":{"n":1}}`))
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`{"n":1}`), event.Data)
	_, err = client.ParseEvent([]byte("{"))
	require.Error(t, err)
}
