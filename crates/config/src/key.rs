//! One key of the policy: its name, its kind of value, the field it fills and
//! what it means.

use super::kind::{Setter, TomlValue, ValueKind};
use super::problem::TextProblem;

/// A key of a table that becomes a `P`.
pub struct PolicyKey<P> {
    /// Dotted, from the top of the file for `Policy`, else within its table.
    pub name: &'static str,
    /// One sentence, for `config explain` and the reference.
    pub doc: &'static str,
    field: Box<dyn FieldOf<P>>,
}

impl<P: Clone + 'static> PolicyKey<P> {
    pub fn new<K: ValueKind>(name: &'static str, kind: K, at: fn(&mut P) -> &mut K::Target) -> Self {
        Self { name, doc: "", field: Box::new(KindAt { kind, at }) }
    }

    pub fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    /// Reads a value, or says everything that is wrong with it. `key` is its
    /// whole dotted name.
    pub fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<P>, Vec<TextProblem>> {
        self.field.read(key, value)
    }

    /// What the key accepts, in a few words.
    pub fn takes(&self) -> String {
        self.field.takes()
    }

    /// The value as it would be written in a file.
    pub fn show(&self, policy: &P) -> String {
        self.field.show(&mut policy.clone())
    }
}

/// A kind of value and a place for it, the kind no longer known.
trait FieldOf<P>: Send + Sync {
    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<P>, Vec<TextProblem>>;
    fn takes(&self) -> String;
    fn show(&self, policy: &mut P) -> String;
}

struct KindAt<P, K: ValueKind> {
    kind: K,
    at: fn(&mut P) -> &mut K::Target,
}

impl<P: 'static, K: ValueKind> FieldOf<P> for KindAt<P, K> {
    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<P>, Vec<TextProblem>> {
        let set = self.kind.read(key, value)?;
        let at = self.at;
        Ok(Box::new(move |policy| set(at(policy))))
    }

    fn takes(&self) -> String {
        self.kind.takes()
    }

    fn show(&self, policy: &mut P) -> String {
        self.kind.show((self.at)(policy))
    }
}
