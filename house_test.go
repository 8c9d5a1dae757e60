package echomqsim_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/echomq/echomq-sim"

// mayImport lists, for each package, the packages of this module that its
// non-test files may import: the arrows of the house.
var mayImport = map[string][]string{
	"":               {"engine", "resp"},
	"cmd/echomq-sim": {"", "engine"},
	"engine":         {"luabridge", "rdb", "resp", "store"},
	"luabridge":      {"resp"},
	"rdb":            {"resp", "store"}, // values to bytes and back; resp has the text of doubles
	"resp":           {},
	"store":          {},
	"scripts":        {},
	"echomq":         {"scripts"},
}

// libraryHome lists which packages may import a library.
var libraryHome = map[string][]string{
	"github.com/tidwall/redcon":     {"resp"},
	"github.com/yuin/gopher-lua":    {"luabridge"},
	"github.com/google/btree":       {"store"},
	"math/rand":                     {},
	"math/rand/v2":                  {"engine"},
	"unsafe":                        {"resp", "store", "luabridge"},
	"github.com/redis/go-redis/v9":  {},
	"github.com/redis/rueidis":      {},
	"github.com/alicebob/miniredis": {},
}

// callHome lists the files that may make a call whose result depends on the moment.
var callHome = map[string][]string{
	"time.Now":       {"engine/clock.go", "echomq/brandedid.go"},
	"time.Since":     {"engine/clock.go"},
	"time.Until":     {"engine/clock.go"},
	"time.After":     {},
	"time.AfterFunc": {"engine/clock.go"},
	"time.NewTimer":  {},
	"time.NewTicker": {},
	"time.Sleep":     {},
	"time.Tick":      {},
}

const (
	maxFuncLines = 70
	maxFileLines = 600
)

// goFile is one parsed file of the module.
type goFile struct {
	path, pkg string
	test      bool
	ast       *ast.File
	lines     int
}

func TestHouse(t *testing.T) {
	fset := token.NewFileSet()
	for _, f := range houseFiles(t, fset) {
		if !f.test {
			checkImports(t, f)
		}
		checkCalls(t, fset, f)
		checkSizes(t, fset, f)
	}
}

func houseFiles(t *testing.T, fset *token.FileSet) (files []goFile) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = ""
		}
		files = append(files, goFile{path: filepath.ToSlash(path), pkg: pkg, test: strings.HasSuffix(path, "_test.go"),
			ast: parsed, lines: fset.File(parsed.Pos()).LineCount()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func checkImports(t *testing.T, f goFile) {
	allowed, known := mayImport[f.pkg]
	if !known {
		t.Errorf("%s: package %q has no place in the house", f.path, f.pkg)
	}
	for _, imp := range f.ast.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		if own, ok := strings.CutPrefix(path, module); ok {
			if own = strings.TrimPrefix(own, "/"); !slices.Contains(allowed, own) {
				t.Errorf("%s: %q may not import %q", f.path, f.pkg, own)
			}
		}
		for lib, home := range libraryHome {
			inside := path == lib || lib != "math/rand" && strings.HasPrefix(path, lib+"/")
			if inside && !slices.Contains(home, f.pkg) {
				t.Errorf("%s: %s may be imported by %v only", f.path, lib, home)
			}
		}
	}
}

// checkCalls finds the uses of functions that have a home. Tests must not sleep either.
func checkCalls(t *testing.T, fset *token.FileSet, f goFile) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Name != "time" {
			return true
		}
		name := "time." + sel.Sel.Name
		home, guarded := callHome[name]
		if guarded && !slices.Contains(home, f.path) && !(f.test && mayInTests(name)) {
			t.Errorf("%s: %s belongs in %v", fset.Position(sel.Pos()), name, home)
		}
		return true
	})
}

// mayInTests lets tests measure real time and set time-outs; sleeping is not among it.
func mayInTests(name string) bool { return name != "time.Sleep" && name != "time.Tick" }

func checkSizes(t *testing.T, fset *token.FileSet, f goFile) {
	if f.lines > maxFileLines && !f.test {
		t.Errorf("%s has %d lines, at most %d are allowed", f.path, f.lines, maxFileLines)
	}
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
			t.Errorf("%s: %s has %d lines, at most %d are allowed", f.path, fn.Name.Name, n, maxFuncLines)
		}
	}
}
