package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
)

// functionSet is the loaded libraries. It is immutable: snapshots share it, and
// every change makes a new one.
type functionSet struct {
	libraries []*luabridge.Library // by name
	byName    map[string]*function // lower case
}

// function is one registered function and its library.
type function struct {
	luabridge.Function
	library *luabridge.Library
}

// find finds a function by its name in any case.
func (fs *functionSet) find(name string) *function {
	if f := fs.byName[name]; f != nil {
		return f
	}
	return fs.byName[strings.ToLower(name)]
}

func (fs *functionSet) index(name string) (int, bool) {
	return slices.BinarySearchFunc(fs.libraries, name, func(lib *luabridge.Library, name string) int {
		return strings.Compare(lib.Name, name)
	})
}

// library finds a library by its exact name.
func (fs *functionSet) library(name string) *luabridge.Library {
	if i, ok := fs.index(name); ok {
		return fs.libraries[i]
	}
	return nil
}

// count is how many functions all libraries have.
func (fs *functionSet) count() (n int64) {
	for _, lib := range fs.libraries {
		n += int64(len(lib.Functions))
	}
	return n
}

// with is the set with one library more; clash names a function that it has already.
func (fs *functionSet) with(lib *luabridge.Library) (next *functionSet, clash string) {
	for _, f := range lib.Functions {
		if fs.find(f.Name) != nil {
			return nil, f.Name
		}
	}
	i, _ := fs.index(lib.Name)
	return newFunctionSet(slices.Insert(slices.Clone(fs.libraries), i, lib)), ""
}

// without is the set without one library.
func (fs *functionSet) without(name string) *functionSet {
	i, ok := fs.index(name)
	if !ok {
		return fs
	}
	return newFunctionSet(slices.Delete(slices.Clone(fs.libraries), i, i+1))
}

// join is the set with the libraries of another one.
func (fs *functionSet) join(other *functionSet, replace bool) (next *functionSet, bad *resp.Value) {
	next = fs
	fail := func(text string) (*functionSet, *resp.Value) {
		v := resp.Err("ERR " + text)
		return nil, &v
	}
	for _, lib := range other.libraries {
		if fs.library(lib.Name) != nil && !replace {
			return fail("Library " + lib.Name + " already exists")
		}
		next = next.without(lib.Name)
	}
	for _, lib := range other.libraries {
		var clash string
		if next, clash = next.with(lib); clash != "" {
			return fail("Function " + clash + " already exists")
		}
	}
	return next, nil
}

func newFunctionSet(libraries []*luabridge.Library) *functionSet {
	fs := &functionSet{libraries: libraries, byName: map[string]*function{}}
	for _, lib := range libraries {
		for _, f := range lib.Functions {
			if name := strings.ToLower(f.Name); fs.byName[name] == nil {
				fs.byName[name] = &function{Function: f, library: lib}
			}
		}
	}
	return fs
}

// setFunctions replaces the loaded libraries. The variables of those that are
// gone are dropped.
func (co *core) setFunctions(next *functionSet) {
	if co.lua != nil {
		for _, lib := range co.functions.libraries {
			if next.library(lib.Name) != lib {
				co.lua.Forget(lib)
			}
		}
	}
	co.functions = next
	clear(co.fastFunctions)
	co.stats.dirty++
}

// restoreFunctions puts the libraries of a snapshot in place.
func (co *core) restoreFunctions(fs *functionSet) {
	co.functions = fs
	clear(co.fastFunctions)
	if co.lua != nil {
		co.lua.ForgetAll()
	}
}

// forgetLibraries drops the variables of libraries that were loaded in vain.
func (co *core) forgetLibraries(fs *functionSet) {
	for _, lib := range fs.libraries {
		co.interp().Forget(lib)
	}
}

// loadLimit is how long the code of a library may run.
const loadLimit = 500 * time.Millisecond

// loadLibrary runs a library's code.
func (co *core) loadLibrary(lib *luabridge.Library) error {
	watch := startWatch()
	return co.interp().Load(scriptHost{co}, lib, func() (stop bool, reason string) {
		if co.closing() {
			return true, closedText
		}
		return watch.elapsed() > loadLimit, "FUNCTION LOAD timeout"
	})
}
