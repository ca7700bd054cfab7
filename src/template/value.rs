//! What a template computes with: values that behave as Go's do.
//!
//! Maps and lists are shared by reference, so that `set` and `merge` change what others see; numbers keep
//! their Go type, because `typeOf`, `eq` and `printf` tell them apart. Values with methods (Helm's built-in
//! objects, times, versions) come in through [`Object`]; this module knows none of them.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use super::call::{Context, FuncError, FuncResult};
use super::text::Str;
use super::types::{Kind, Type};
use crate::value::Value;

/// One value. Copying is cheap: strings, lists, maps and objects are shared.
#[derive(Clone, Debug, Default)]
pub enum Val {
    /// No value: Go's nil without a type.
    #[default]
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `int64`.
    Int64(i64),
    /// A signed integer of one of the less usual kinds (`int32`, …).
    Sized(Kind, i64),
    /// An unsigned integer of the given kind (`uint8`, `uint64`, …).
    Uint(Kind, u64),
    /// `float64`.
    Float(f64),
    /// `string`.
    Str(Str),
    /// `[]byte`.
    Bytes(Str),
    /// Any other slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A value of a named type.
    Object(Rc<dyn Object>),
}

/// A number by class, the way Go's comparisons and `fmt` look at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Any signed integer.
    Int(i64),
    /// Any unsigned integer.
    Uint(u64),
    /// Any floating-point number.
    Float(f64),
}

impl Val {
    /// Returns the string value of `text`.
    pub fn str(text: impl Into<Str>) -> Val {
        Val::Str(text.into())
    }

    /// Returns a `[]interface {}`.
    pub fn list(items: Vec<Val>) -> Val {
        Val::List(List::new(items))
    }

    /// Returns a `[]string`.
    pub fn strings<T: Into<Str>>(items: impl IntoIterator<Item = T>) -> Val {
        Val::List(List::of(Type::STRING, items.into_iter().map(Val::str).collect()))
    }

    /// Returns the object as a value.
    pub fn object(object: impl Object) -> Val {
        Val::Object(Rc::new(object))
    }

    /// Returns the Go type, or nothing for nil.
    pub fn go_type(&self) -> Option<Type> {
        Some(match self {
            Val::Nil => return None,
            Val::Bool(_) => Type::BOOL,
            Val::Int(_) => Type::INT,
            Val::Int64(_) => Type::INT64,
            Val::Sized(kind, _) | Val::Uint(kind, _) => Type::Basic(*kind),
            Val::Float(_) => Type::FLOAT64,
            Val::Str(_) => Type::STRING,
            Val::Bytes(_) => Type::List(&Type::UINT8),
            Val::List(list) => list.go_type(),
            Val::Map(map) => map.go_type(),
            Val::Object(object) => Type::Named(object.type_name(), object.kind()),
        })
    }

    /// Returns the kind; [`Kind::Invalid`] for nil.
    pub fn kind(&self) -> Kind {
        self.go_type().map_or(Kind::Invalid, Type::kind)
    }

    /// Returns the type as `%T` prints it.
    pub fn type_name(&self) -> String {
        self.go_type().map_or_else(|| "<nil>".to_owned(), |go_type| go_type.to_string())
    }

    /// Tells whether this is nil without a type.
    pub fn is_nil(&self) -> bool {
        matches!(self, Val::Nil)
    }

    /// Returns the number, also of a named numeric type.
    pub fn number(&self) -> Option<Number> {
        match self {
            Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => Some(Number::Int(*number)),
            Val::Uint(_, number) => Some(Number::Uint(*number)),
            Val::Float(number) => Some(Number::Float(*number)),
            Val::Object(object) => object.underlying()?.number(),
            _ => None,
        }
    }

    /// Returns the string; nothing for any other type.
    pub fn as_str(&self) -> Option<&Str> {
        if let Val::Str(text) = self { Some(text) } else { None }
    }

    /// Returns the value beneath a named type, or the value itself.
    pub fn plain(&self) -> Val {
        match self {
            Val::Object(object) => object.underlying().unwrap_or_else(|| self.clone()),
            other => other.clone(),
        }
    }

    /// Returns the map, also one beneath a named type.
    pub fn to_map(&self) -> Option<Map> {
        match self {
            Val::Map(map) => Some(map.clone()),
            Val::Object(object) => object.underlying().and_then(|inner| inner.to_map()),
            _ => None,
        }
    }

    /// Returns the elements of any slice as a list: lists, bytes and named slice types.
    pub fn to_list(&self) -> Option<List> {
        match self {
            Val::List(list) => Some(list.clone()),
            Val::Bytes(bytes) => Some(List::of(
                Type::UINT8,
                bytes.iter().map(|byte| Val::Uint(Kind::Uint8, u64::from(*byte))).collect(),
            )),
            Val::Object(object) => object.underlying().and_then(|inner| inner.to_list()),
            _ => None,
        }
    }

    /// Returns Go's truth: false for nil, zero, and anything empty; structs are true.
    pub fn is_true(&self) -> bool {
        match self {
            Val::Nil => false,
            Val::Bool(flag) => *flag,
            Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => *number != 0,
            Val::Uint(_, number) => *number != 0,
            Val::Float(number) => *number != 0.0,
            Val::Str(text) | Val::Bytes(text) => !text.is_empty(),
            Val::List(list) => !list.is_empty(),
            Val::Map(map) => !map.is_empty(),
            Val::Object(object) => object.is_true(),
        }
    }
}

impl From<bool> for Val {
    fn from(flag: bool) -> Self {
        Val::Bool(flag)
    }
}

impl From<f64> for Val {
    fn from(number: f64) -> Self {
        Val::Float(number)
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        Val::str(text)
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Val::str(text)
    }
}

impl From<Str> for Val {
    fn from(text: Str) -> Self {
        Val::Str(text)
    }
}

impl From<List> for Val {
    fn from(list: List) -> Self {
        Val::List(list)
    }
}

impl From<Map> for Val {
    fn from(map: Map) -> Self {
        Val::Map(map)
    }
}

/// A slice. No template function changes one in place, so it is never changed once made.
#[derive(Clone, Debug)]
pub struct List(Rc<ListData>);

#[derive(Debug)]
struct ListData {
    element: Type,
    nil: bool,
    items: Vec<Val>,
}

impl List {
    /// Returns a `[]interface {}`.
    pub fn new(items: Vec<Val>) -> List {
        List::of(Type::Any, items)
    }

    /// Returns a slice with elements of type `element`; the items must be of that type.
    pub fn of(element: Type, items: Vec<Val>) -> List {
        List(Rc::new(ListData { element, nil: false, items }))
    }

    /// Returns a nil slice, which prints as an empty list but encodes as `null`.
    pub fn nil(element: Type) -> List {
        List(Rc::new(ListData { element, nil: true, items: Vec::new() }))
    }

    /// Returns the element type.
    pub fn element(&self) -> Type {
        self.0.element
    }

    /// Returns the type of the slice itself.
    pub fn go_type(&self) -> Type {
        match self.0.element {
            Type::Any => Type::ANY_LIST,
            Type::Basic(kind) => match kind {
                Kind::String => Type::STRING_LIST,
                Kind::Int => Type::List(&Type::INT),
                Kind::Int64 => Type::List(&Type::INT64),
                Kind::Float64 => Type::List(&Type::FLOAT64),
                Kind::Bool => Type::List(&Type::BOOL),
                Kind::Uint8 => Type::List(&Type::UINT8),
                _ => Type::ANY_LIST,
            },
            Type::List(&Type::Any) => Type::List(&Type::ANY_LIST),
            Type::List(_) => Type::List(&Type::STRING_LIST),
            Type::Map(&Type::Any) => Type::List(&Type::ANY_MAP),
            _ => Type::ANY_LIST,
        }
    }

    /// Tells whether this is a nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    /// Tells whether both are the same slice in memory.
    pub fn ptr_eq(&self, other: &List) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for List {
    type Target = [Val];

    fn deref(&self) -> &[Val] {
        &self.0.items
    }
}

/// The entries of a [`Map`], in the byte order of their keys.
pub type Entries = BTreeMap<Str, Val>;

/// A Go map with string keys, shared by reference.
#[derive(Clone, Debug)]
pub struct Map(Rc<MapData>);

#[derive(Debug)]
struct MapData {
    element: Type,
    nil: bool,
    entries: RefCell<Entries>,
}

/// A write to a nil map, which Go answers with a panic.
#[derive(Debug, thiserror::Error)]
#[error("assignment to entry in nil map")]
pub struct NilMap;

impl Map {
    /// Returns an empty `map[string]interface {}`.
    pub fn new() -> Map {
        Map::of(Type::Any, Entries::new())
    }

    /// Returns a map with elements of type `element`; the values must be of that type.
    pub fn of(element: Type, entries: Entries) -> Map {
        Map(Rc::new(MapData { element, nil: false, entries: RefCell::new(entries) }))
    }

    /// Returns a nil map: reads as empty, cannot be written to.
    pub fn nil(element: Type) -> Map {
        Map(Rc::new(MapData { element, nil: true, entries: RefCell::default() }))
    }

    /// Returns the element type.
    pub fn element(&self) -> Type {
        self.0.element
    }

    /// Returns the type of the map itself.
    pub fn go_type(&self) -> Type {
        match self.0.element {
            Type::Basic(Kind::String) => Type::STRING_MAP,
            Type::List(_) => Type::Map(&Type::STRING_LIST),
            _ => Type::ANY_MAP,
        }
    }

    /// Tells whether this is a nil map.
    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.entries.borrow().len()
    }

    /// Tells whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.entries.borrow().is_empty()
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<Val> {
        self.0.entries.borrow().get(key).cloned()
    }

    /// Tells whether `key` is there, be it with a nil value.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.0.entries.borrow().contains_key(key)
    }

    /// Sets `key`; fails on a nil map.
    pub fn insert(&self, key: Str, value: Val) -> Result<(), NilMap> {
        if self.0.nil {
            return Err(NilMap);
        }
        let replaced = self.0.entries.borrow_mut().insert(key, value);
        // Dropped after the borrow ends: the old value may hold this very map.
        drop(replaced);
        Ok(())
    }

    /// Removes `key` if it is there.
    pub fn remove(&self, key: &[u8]) {
        let removed = self.0.entries.borrow_mut().remove(key);
        drop(removed);
    }

    /// Returns a look at the entries. It must be given up before anything may write to this map.
    pub fn borrow(&self) -> Ref<'_, Entries> {
        self.0.entries.borrow()
    }

    /// Returns the entries as they are now, safe against later writes.
    pub fn entries(&self) -> Vec<(Str, Val)> {
        self.0.entries.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Returns the keys in byte order.
    pub fn keys(&self) -> Vec<Str> {
        self.0.entries.borrow().keys().cloned().collect()
    }

    /// Tells whether both are the same map in memory.
    pub fn ptr_eq(&self, other: &Map) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Map {
    fn default() -> Self {
        Map::new()
    }
}

impl FromIterator<(Str, Val)> for Map {
    fn from_iter<I: IntoIterator<Item = (Str, Val)>>(entries: I) -> Self {
        Map::of(Type::Any, entries.into_iter().collect())
    }
}

/// A method of an [`Object`], with the parameters the executor checks before it calls.
#[derive(Debug)]
pub struct Method {
    /// The method's name.
    pub name: &'static str,
    /// Types of the parameters, without the receiver.
    pub params: &'static [Type],
    /// The last parameter may be given any number of times.
    pub variadic: bool,
    /// The code. The receiver is the object that answered [`Object::method`]; [`receiver`] casts it.
    pub call: fn(&mut Context<'_>, &(dyn Object + 'static), &[Val]) -> FuncResult,
}

/// A value of a named Go type: Helm's built-in objects, a time, a version, a certificate.
///
/// The defaults describe a struct without fields and methods.
pub trait Object: Any + fmt::Debug {
    /// Returns the name of the type as `%T` prints it, with `*` for a pointer.
    fn type_name(&self) -> &'static str;

    /// Returns the kind of the type.
    fn kind(&self) -> Kind {
        Kind::Struct
    }

    /// Returns the method `name`. Methods win over fields and map keys.
    fn method(&self, _name: &str) -> Option<&'static Method> {
        None
    }

    /// Returns the struct field `name` (also through a pointer).
    fn field(&self, _name: &str) -> Option<Val> {
        None
    }

    /// Returns the exported fields in the order of the struct, as `%v` prints them.
    fn fields(&self) -> Vec<(&'static str, Val)> {
        Vec::new()
    }

    /// Returns the value beneath a named map, slice, string or number; nothing for structs. Maps must be the
    /// same shared map each time.
    fn underlying(&self) -> Option<Val> {
        None
    }

    /// Returns a value of the same named type around another map, for a copy that shares nothing. A type that is
    /// not a map, or whose map never changes, gives nothing.
    fn around(&self, _inner: Map) -> Option<Val> {
        None
    }

    /// Returns what an action prints when it may use methods of the pointer to the value; otherwise as
    /// [`Object::formatted`].
    fn printed(&self) -> Option<String> {
        self.formatted()
    }

    /// Returns what `fmt` prints for `%v` and `%s` because the value has a `String` or `Error` method.
    fn formatted(&self) -> Option<String> {
        None
    }

    /// Returns the value as `encoding/json` sees it.
    fn to_value(&self) -> Value {
        let members = self.fields().into_iter().filter_map(|(name, field)| {
            let value = super::convert::to_value(&field).ok()?;
            Some((name.to_owned(), value))
        });
        match self.underlying() {
            Some(inner) => super::convert::to_value(&inner).unwrap_or_default(),
            None => Value::Map(members.collect()),
        }
    }

    /// Tells whether both are equal as Go's `==` or `reflect.DeepEqual` finds them.
    fn equals(&self, _other: &(dyn Object + 'static)) -> bool {
        false
    }

    /// Returns Go's truth of the value: structs and pointers are true, others as what is beneath.
    fn is_true(&self) -> bool {
        self.underlying().is_none_or(|inner| inner.is_true())
    }
}

/// Returns the receiver of a method as its own type.
pub fn receiver<'o, T: Object>(object: &'o (dyn Object + 'static)) -> Result<&'o T, FuncError> {
    let object: &dyn Any = object;
    object.downcast_ref().ok_or_else(|| FuncError::new("method called on a value of another type"))
}

/// How deep drops may recurse before the rest is put off.
const DROP_DEPTH: usize = 64;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static DEFERRED: RefCell<Vec<Val>> = const { RefCell::new(Vec::new()) };
}

/// Drops the children of a container without recursing deeply: a template can nest lists a million levels
/// deep, which must not overflow the stack when they go.
fn drop_children(children: impl Iterator<Item = Val>) {
    let depth = DEPTH.try_with(Cell::get).unwrap_or(0);
    if depth >= DROP_DEPTH {
        let mut children = Some(children);
        let deferred = DEFERRED.try_with(|deferred| {
            if let (Ok(mut deferred), Some(children)) = (deferred.try_borrow_mut(), children.take()) {
                deferred.extend(children);
            }
        });
        if deferred.is_ok() {
            return;
        }
        drop(children);
        return;
    }
    let set_depth = |depth| {
        // Failing means that the thread ends; then the count no longer matters.
        let _ = DEPTH.try_with(|cell| cell.set(depth));
    };
    set_depth(depth + 1);
    children.for_each(drop);
    if depth == 0 {
        while let Ok(Some(value)) = DEFERRED.try_with(|deferred| deferred.borrow_mut().pop()) {
            drop(value);
        }
    }
    set_depth(depth);
}

fn holds_children(value: &Val) -> bool {
    matches!(value, Val::List(_) | Val::Map(_) | Val::Object(_))
}

impl Drop for ListData {
    fn drop(&mut self) {
        if self.items.iter().any(holds_children) {
            drop_children(std::mem::take(&mut self.items).into_iter());
        }
    }
}

impl Drop for MapData {
    fn drop(&mut self) {
        let entries = self.entries.get_mut();
        if entries.values().any(holds_children) {
            drop_children(std::mem::take(entries).into_values());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_go_names() {
        for (value, name) in [
            (Val::Nil, "<nil>"),
            (Val::Bool(true), "bool"),
            (Val::Int(1), "int"),
            (Val::Int64(1), "int64"),
            (Val::Uint(Kind::Uint8, 1), "uint8"),
            (Val::Float(1.0), "float64"),
            (Val::str("a"), "string"),
            (Val::Bytes("a".into()), "[]uint8"),
            (Val::list(Vec::new()), "[]interface {}"),
            (Val::strings(["a"]), "[]string"),
            (Val::Map(Map::new()), "map[string]interface {}"),
            (Val::Map(Map::of(Type::STRING, Entries::new())), "map[string]string"),
        ] {
            assert_eq!(value.type_name(), name);
        }
    }

    #[test]
    fn copies_of_a_map_share_their_entries() {
        let map = Map::new();
        let copy = map.clone();
        copy.insert("a".into(), Val::Int(1)).unwrap();
        assert!(matches!(map.get(b"a"), Some(Val::Int(1))));
    }

    #[test]
    fn a_nil_map_refuses_writes() {
        assert!(Map::nil(Type::Any).insert("a".into(), Val::Nil).is_err());
    }

    #[test]
    fn very_deep_values_can_be_dropped() {
        let mut list = Val::list(Vec::new());
        let mut map = Val::Map(Map::new());
        for _ in 0..100_000 {
            list = Val::list(vec![list]);
            map = Val::Map(Map::from_iter([(Str::default(), map)]));
        }
    }
}
