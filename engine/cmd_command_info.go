package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

func infoOf(specs []*Spec) resp.Value {
	out := make([]resp.Value, len(specs))
	for i, s := range specs {
		out[i] = s.info()
	}
	return resp.Array(out...)
}

// info is the row as COMMAND INFO shows it.
func (s *Spec) info() resp.Value {
	var categories []resp.Value
	for _, name := range s.categories.names() {
		categories = append(categories, resp.Simple("@"+name))
	}
	specs := make([]resp.Value, len(s.Keys))
	for i := range s.Keys {
		specs[i] = s.Keys[i].info()
	}
	subs := resp.Set()
	if s.subs != nil {
		subs = infoOf(s.subOrder)
	}
	return resp.Array(
		resp.Bulk(s.Name), resp.Int(int64(s.Arity)), statusSet(flagNames, uint32(s.Flags)),
		resp.Int(int64(s.first)), resp.Int(int64(s.last)), resp.Int(int64(s.step)),
		resp.Set(categories...), bulkSet(s.Tips), resp.Set(specs...), subs)
}

// statusSet is the set of the names whose bits are set.
func statusSet(names []string, bits uint32) resp.Value {
	var out []resp.Value
	for i, name := range names {
		if bits&(1<<i) != 0 {
			out = append(out, resp.Simple(name))
		}
	}
	return resp.Set(out...)
}

func bulkSet(ss []string) resp.Value { return resp.Set(resp.Strings(ss...).Elems...) }

// info is the key spec as COMMAND INFO shows it.
func (k *KeySpec) info() resp.Value {
	var out []resp.Value
	if k.Notes != "" {
		out = append(out, resp.Bulk("notes"), resp.Bulk(k.Notes))
	}
	out = append(out, resp.Bulk("flags"), statusSet(keyFlagNames, uint32(k.Flags)),
		resp.Bulk("begin_search"), k.beginInfo(), resp.Bulk("find_keys"), k.findInfo())
	return resp.Map(out...)
}

func (k *KeySpec) beginInfo() resp.Value {
	switch k.begin {
	case beginIndex:
		return typedSpec("index", resp.Bulk("index"), resp.Int(int64(k.index)))
	case beginKeyword:
		return typedSpec("keyword", resp.Bulk("keyword"), resp.Bulk(k.keyword),
			resp.Bulk("startfrom"), resp.Int(int64(k.startAt)))
	}
	return typedSpec("unknown")
}

func (k *KeySpec) findInfo() resp.Value {
	switch k.find {
	case findRange:
		return typedSpec("range", resp.Bulk("lastkey"), resp.Int(int64(k.last)),
			resp.Bulk("keystep"), resp.Int(int64(k.step)), resp.Bulk("limit"), resp.Int(int64(k.limit)))
	case findNum:
		return typedSpec("keynum", resp.Bulk("keynumidx"), resp.Int(int64(k.numIdx)),
			resp.Bulk("firstkey"), resp.Int(int64(k.firstKey)), resp.Bulk("keystep"), resp.Int(int64(k.step)))
	}
	return typedSpec("unknown")
}

func typedSpec(kind string, spec ...resp.Value) resp.Value {
	return resp.Map(resp.Bulk("type"), resp.Bulk(kind), resp.Bulk("spec"), resp.Map(spec...))
}

func docsOf(specs []*Spec) resp.Value {
	out := make([]resp.Value, 0, 2*len(specs))
	for _, s := range specs {
		out = append(out, resp.Bulk(s.Name), s.docs())
	}
	return resp.Map(out...)
}

// docs is the row as COMMAND DOCS shows it.
func (s *Spec) docs() resp.Value {
	var out []resp.Value
	add := func(name string, v resp.Value) { out = append(out, resp.Bulk(name), v) }
	text := func(name, value string) {
		if value != "" {
			add(name, resp.Bulk(value))
		}
	}
	text("summary", s.Summary)
	text("since", s.Since)
	text("group", s.Group)
	text("complexity", s.Complexity)
	if len(s.DocFlags) > 0 {
		flags := make([]resp.Value, len(s.DocFlags))
		for i, f := range s.DocFlags {
			flags[i] = resp.Simple(f)
		}
		add("doc_flags", resp.Set(flags...))
	}
	text("deprecated_since", s.DeprecatedSince)
	text("replaced_by", s.ReplacedBy)
	if len(s.History) > 0 {
		add("history", s.historyDocs())
	}
	if s.Args != "" {
		add("arguments", argsDocs(parseDocArgs(s.Args)))
	}
	if s.subs != nil {
		add("subcommands", docsOf(s.subOrder))
	}
	return resp.Map(out...)
}

// historyDocs splits entries like "6.2.0 Added the `GT` option."
func (s *Spec) historyDocs() resp.Value {
	out := make([]resp.Value, len(s.History))
	for i, h := range s.History {
		version, change, _ := strings.Cut(h, " ")
		out[i] = resp.Strings(version, change)
	}
	return resp.Set(out...)
}
