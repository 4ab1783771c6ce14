//! The names that a file gives to assertions, and to the modules that have them.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::syntax::{named_children, text};

const MODULES: &[&str] = &[
    "assert",
    "node:assert",
    "assert/strict",
    "node:assert/strict",
    "power-assert",
    "uvu/assert",
    "@std/assert",
    "jsr:@std/assert",
];

pub(super) struct Imports {
    /// By the name that the file gives it, the name that its module has for it.
    functions: BTreeMap<String, String>,
    modules: BTreeSet<String>,
}

impl Imports {
    pub fn read(root: Node<'_>, source: &[u8]) -> Self {
        let modules = BTreeSet::from(["assert".to_owned()]);
        let mut imports = Self { functions: BTreeMap::new(), modules };
        for statement in named_children(root) {
            match statement.kind() {
                "import_statement" => imports.imported(statement, source),
                "lexical_declaration" | "variable_declaration" => {
                    for declarator in named_children(statement) {
                        imports.declared(declarator, source);
                    }
                }
                _ => {}
            }
        }
        imports
    }

    /// What a function is called in its module, where the file has it alone.
    pub fn function(&self, name: &str) -> Option<&str> {
        self.functions.get(name).map(String::as_str)
    }

    /// Whether it is `assert` by any name: `t.assert`, `chai.assert`, `assert.strict`.
    pub fn is_module(&self, written: &str) -> bool {
        let whole = written.strip_suffix(".strict").unwrap_or(written);
        self.modules.contains(whole) || whole.ends_with(".assert")
    }

    /// `import assert, { equal as eq } from 'node:assert'`.
    fn imported(&mut self, statement: Node<'_>, source: &[u8]) {
        let module = statement.child_by_field_name("source").map(|module| text(module, source));
        let Some(module) = module else { return };
        let module = module.trim_matches(['"', '\'']);
        let clauses = named_children(statement).into_iter().filter(|node| node.kind() == "import_clause");
        for clause in clauses.flat_map(named_children) {
            match clause.kind() {
                "identifier" if is_assert(module) => self.name_module(clause, source),
                "namespace_import" if is_assert(module) => {
                    named_children(clause).into_iter().for_each(|name| self.name_module(name, source));
                }
                "named_imports" => {
                    for specifier in named_children(clause) {
                        let Some(name) = specifier.child_by_field_name("name") else { continue };
                        let own = specifier.child_by_field_name("alias").unwrap_or(name);
                        self.member(module, name, own, source);
                    }
                }
                _ => {}
            }
        }
    }

    /// `const assert = require('assert')`, `const { equal: eq } = require('assert')`, `const { equal } = assert`.
    fn declared(&mut self, declarator: Node<'_>, source: &[u8]) {
        let (Some(name), Some(value)) =
            (declarator.child_by_field_name("name"), declarator.child_by_field_name("value"))
        else {
            return;
        };
        let written = text(value, source);
        let module = if self.is_module(&written) { Some("assert".to_owned()) } else { required(&written) };
        let Some(module) = module else { return };
        if name.kind() == "identifier" && is_assert(&module) {
            self.name_module(name, source);
        } else if name.kind() == "object_pattern" {
            for member in named_children(name) {
                let key = member.child_by_field_name("key").unwrap_or(member);
                let own = member.child_by_field_name("value").unwrap_or(member);
                self.member(&module, key, own, source);
            }
        }
    }

    fn member(&mut self, module: &str, name: Node<'_>, own: Node<'_>, source: &[u8]) {
        let name = text(name, source);
        match &*name {
            "assert" | "strict" | "default" if is_assert(module) || module == "chai" => {
                self.name_module(own, source);
            }
            _ if is_assert(module) => {
                self.functions.insert(text(own, source).into_owned(), name.into_owned());
            }
            _ => {}
        }
    }

    fn name_module(&mut self, name: Node<'_>, source: &[u8]) {
        self.modules.insert(text(name, source).into_owned());
    }
}

fn is_assert(module: &str) -> bool {
    MODULES.contains(&module) || module.starts_with("jsr:@std/assert@") || module.ends_with("/assert/mod.ts")
}

/// The module of `require('node:assert').strict`.
fn required(written: &str) -> Option<String> {
    let inside = written.strip_prefix("require(")?;
    let (module, rest) = inside.split_once(')')?;
    let module = module.trim_matches(['"', '\'', ' ']);
    match rest {
        "" => Some(module.to_owned()),
        ".strict" => is_assert(module).then(|| module.to_owned()),
        ".assert" => (module == "chai").then(|| "assert".to_owned()),
        _ => None,
    }
}
