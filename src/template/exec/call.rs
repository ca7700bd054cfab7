//! Calls of functions and methods: counting, evaluating and checking arguments.

use super::{Exec, Frame, Operand};
use crate::template::call::{Action, Context, Func, FuncError};
use crate::template::error::ExecError;
use crate::template::parse::ast::{Form, NodeId};
use crate::template::text::Str;
use crate::template::types::{Kind, Type};
use crate::template::value::{List, Map, Method, Object, Val};

/// The longest text that a function may return.
const MAX_TEXT: usize = 1 << 28;

/// The longest list that a function may return.
const MAX_ITEMS: usize = 1 << 24;

/// What is called: parameters for the checks, and a name for error texts.
struct Callee<'c> {
    name: &'c str,
    params: &'static [Type],
    is_variadic: bool,
}

impl Context<'_> {
    pub(super) fn function(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        function: &'static Func,
        node: NodeId,
        args: &[NodeId],
        last: Option<Val>,
    ) -> Exec<Operand> {
        let callee = Callee { name: function.name, params: function.params, is_variadic: function.variadic };
        self.check_count(frame, &callee, args, &last)?;
        let code = match function.action {
            Action::Run(code) => code,
            Action::And => return self.short_circuit(frame, dot, args, last, false),
            Action::Or => return self.short_circuit(frame, dot, args, last, true),
            Action::Len => {
                let item = match (args, last) {
                    ([first, ..], _) => self.arg_value(frame, dot, Type::Value, *first)?,
                    ([], last) => Operand::plain(last.unwrap_or_default()),
                };
                let length = length(&item).map_err(|error| self.call_error(frame, node, "len", error))?;
                return Ok(Operand::plain(length));
            }
        };
        self.call(frame, dot, &callee, node, args, last, |context, args| code(context, args))
    }

    #[expect(clippy::too_many_arguments, reason = "a command's parts, as Go's executor passes them")]
    pub(super) fn method(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        object: &(dyn Object + 'static),
        method: &'static Method,
        node: NodeId,
        args: &[NodeId],
        last: Option<Val>,
    ) -> Exec<Operand> {
        let callee = Callee { name: method.name, params: method.params, is_variadic: method.variadic };
        self.check_count(frame, &callee, args, &last)?;
        self.call(frame, dot, &callee, node, args, last, |context, args| (method.call)(context, object, args))
    }

    fn check_count(
        &self,
        frame: &Frame<'_>,
        callee: &Callee<'_>,
        args: &[NodeId],
        last: &Option<Val>,
    ) -> Exec<()> {
        let given = args.len() + usize::from(last.is_some());
        let name = callee.name;
        let wanted = callee.params.len() - usize::from(callee.is_variadic);
        if callee.is_variadic {
            if given < wanted {
                // Go counts without the piped argument here.
                let given = args.len();
                return self.fail(
                    frame,
                    format!("wrong number of args for {name}: want at least {wanted} got {given}"),
                );
            }
        } else if given != wanted {
            return self.fail(frame, format!("wrong number of args for {name}: want {wanted} got {given}"));
        }
        Ok(())
    }

    /// `and` and `or`: the first argument that decides, else the last one.
    fn short_circuit(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        args: &[NodeId],
        last: Option<Val>,
        decisive: bool,
    ) -> Exec<Operand> {
        let mut value = Operand::default();
        for arg in args {
            value = self.arg_value(frame, dot, Type::Value, *arg)?;
            if value.val.is_true() == decisive {
                return Ok(value);
            }
        }
        Ok(last.map_or(value, Operand::plain))
    }

    #[expect(clippy::too_many_arguments, reason = "a command's parts, as Go's executor passes them")]
    fn call(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        callee: &Callee<'_>,
        node: NodeId,
        args: &[NodeId],
        last: Option<Val>,
        code: impl FnOnce(&mut Self, &[Val]) -> Result<Val, FuncError>,
    ) -> Exec<Operand> {
        self.check_stack(frame)?;
        // Most calls have few arguments; those need no allocation.
        let mut few: [Val; 4] = Default::default();
        let mut many = Vec::new();
        let count = args.len() + usize::from(last.is_some());
        let values: &mut [Val] = if count <= few.len() {
            &mut few[..count]
        } else {
            many.resize(count, Val::Nil);
            &mut many
        };
        for (index, (value, arg)) in values.iter_mut().zip(args).enumerate() {
            *value = self.arg(frame, dot, param(callee, index), *arg)?;
        }
        if let (Some(last), Some(value)) = (last, values.last_mut()) {
            *value = self.validate(frame, Operand::plain(last), param(callee, count - 1))?;
        }
        match code(self, values).and_then(|value| self.check_size(value)) {
            Ok(value) => Ok(Operand::plain(value)),
            Err(error) => Err(self.call_error(frame, node, callee.name, error)),
        }
    }

    /// Counts what a function built, so that a value which is doubled again and again meets a bound.
    fn check_size(&mut self, value: Val) -> Result<Val, FuncError> {
        let (size, bound) = match &value {
            Val::Str(text) => (text.len(), MAX_TEXT),
            Val::List(list) => (list.len(), MAX_ITEMS),
            _ => return Ok(value),
        };
        if size > bound {
            return Err(FuncError::new("the value becomes larger than is allowed"));
        }
        self.charge(size)?;
        Ok(value)
    }

    #[cold]
    fn call_error(&self, frame: &Frame<'_>, node: NodeId, name: &str, error: FuncError) -> Box<ExecError> {
        frame.at.set(node);
        self.error(frame, format!("error calling {name}: {error}"), Some(Box::new(error)))
    }

    /// Evaluates an argument and checks that it can be passed as `param`.
    fn arg(&mut self, frame: &Frame<'_>, dot: &Operand, param: Type, id: NodeId) -> Exec<Val> {
        if matches!(param, Type::Any | Type::Value) {
            return self.arg_value(frame, dot, param, id).map(|operand| operand.val);
        }
        frame.at.set(id);
        match &frame.source.node(id).form {
            Form::Dot
            | Form::Field(_)
            | Form::Variable(_)
            | Form::Pipe(_)
            | Form::Identifier(_)
            | Form::Chain { .. } => {
                let value = self.operand(frame, dot, id)?;
                self.validate(frame, value, param)
            }
            Form::Nil if param.can_be_nil() => Ok(zero(param)),
            Form::Nil => self.fail(frame, format!("cannot assign nil to {param}")),
            form => match typed_constant(form, param.kind()) {
                Ok(value) => Ok(value),
                Err(expected) => {
                    let found = frame.source.print(id);
                    if expected.is_empty() {
                        return self.fail(frame, format!("can't handle {found} for arg of type {param}"));
                    }
                    self.fail(frame, format!("expected {expected}; found {found}"))
                }
            },
        }
    }

    /// Evaluates an argument that may be anything.
    fn arg_value(&mut self, frame: &Frame<'_>, dot: &Operand, param: Type, id: NodeId) -> Exec<Operand> {
        frame.at.set(id);
        match &frame.source.node(id).form {
            Form::Nil => Ok(Operand { val: Val::Nil, is_interface: param == Type::Any }),
            Form::Bool(_) | Form::Number(_) | Form::String { .. } => self.constant(frame, id),
            _ => self.operand(frame, dot, id),
        }
    }

    /// Evaluates anything but a literal.
    pub(super) fn operand(&mut self, frame: &Frame<'_>, dot: &Operand, id: NodeId) -> Exec<Operand> {
        frame.at.set(id);
        match &frame.source.node(id).form {
            Form::Dot => Ok(dot.clone()),
            Form::Field(fields) => self.chain(frame, dot, dot, id, *fields, &[], None),
            Form::Variable(variable) => self.variable(frame, dot, id, variable, &[], None),
            Form::Pipe(_) => {
                self.check_stack(frame)?;
                self.pipeline(frame, dot, id).map(Operand::plain)
            }
            Form::Identifier(function) => self.function(frame, dot, function, id, &[], None),
            Form::Chain { node, fields } => self.chain_node(frame, dot, id, *node, *fields, &[], None),
            _ => self.constant(frame, id),
        }
    }

    /// Checks that a value can be passed as `param` and returns it in the form that the function gets.
    fn validate(&self, frame: &Frame<'_>, value: Operand, param: Type) -> Exec<Val> {
        if matches!(param, Type::Any | Type::Value) {
            return Ok(value.val);
        }
        if value.val.is_nil() {
            return if value.is_interface {
                self.fail(frame, format!("wrong type for value; expected {param}; got interface {{}}"))
            } else if param.can_be_nil() {
                Ok(zero(param))
            } else {
                self.fail(frame, format!("invalid value; expected {param}"))
            };
        }
        match assign(value.val, param) {
            Ok(val) => Ok(val),
            Err(val) => {
                self.fail(frame, format!("wrong type for value; expected {param}; got {}", val.type_name()))
            }
        }
    }
}

/// The type of parameter `index`.
fn param(callee: &Callee<'_>, index: usize) -> Type {
    let index = if callee.is_variadic { index.min(callee.params.len() - 1) } else { index };
    callee.params.get(index).copied().unwrap_or(Type::Any)
}

/// Returns the value in the form of type `param`, or gives it back if it cannot be assigned.
fn assign(value: Val, param: Type) -> Result<Val, Val> {
    let fits = match (&value, param) {
        (Val::Str(_), Type::Basic(Kind::String)) => true,
        (Val::Object(object), Type::Named(name, _)) => {
            // One pointer is followed.
            object.type_name() == name || object.type_name().strip_prefix('*') == Some(name)
        }
        (Val::Object(object), Type::List(_) | Type::Map(_)) => {
            // A named map or slice goes where its own kind is asked for.
            return match object.underlying() {
                Some(inner) if inner.go_type() == Some(param) => Ok(inner),
                _ => Err(value),
            };
        }
        _ => value.go_type() == Some(param),
    };
    if fits { Ok(value) } else { Err(value) }
}

/// A literal as a value of the kind; else what would have been expected, or nothing when no literal will do.
fn typed_constant(form: &Form, kind: Kind) -> Result<Val, &'static str> {
    match (kind, form) {
        (Kind::Bool, Form::Bool(flag)) => Ok(Val::Bool(*flag)),
        (Kind::Bool, _) => Err("bool"),
        (Kind::String, Form::String { text, .. }) => Ok(Val::Str(text.clone())),
        (Kind::String, _) => Err("string"),
        (kind, Form::Number(number)) if kind.is_int() => match (kind, number.int) {
            (_, None) => Err("integer"),
            (Kind::Int, Some(int)) => Ok(Val::Int(int)),
            (Kind::Int64, Some(int)) => Ok(Val::Int64(int)),
            (_, Some(int)) => Ok(Val::Sized(kind, int)),
        },
        (kind, Form::Number(number)) if kind.is_uint() => {
            number.uint.map(|uint| Val::Uint(kind, uint)).ok_or("unsigned integer")
        }
        (kind, Form::Number(number)) if kind.is_float() => number.float.map(Val::Float).ok_or("float"),
        (kind, _) if kind.is_int() => Err("integer"),
        (kind, _) if kind.is_uint() => Err("unsigned integer"),
        (kind, _) if kind.is_float() => Err("float"),
        _ => Err(""),
    }
}

/// The zero value of a type.
pub(in crate::template) fn zero(of: Type) -> Val {
    match of {
        Type::Any | Type::Value | Type::Named(..) => Val::Nil,
        Type::List(&Type::UINT8) => Val::Bytes(Str::default()),
        Type::List(element) => Val::List(List::nil(*element)),
        Type::Map(element) => Val::Map(Map::nil(*element)),
        Type::Basic(Kind::Bool) => Val::Bool(false),
        Type::Basic(Kind::String) => Val::Str(Str::default()),
        Type::Basic(Kind::Int) => Val::Int(0),
        Type::Basic(Kind::Int64) => Val::Int64(0),
        Type::Basic(kind) if kind.is_uint() => Val::Uint(kind, 0),
        Type::Basic(kind) if kind.is_float() => Val::Float(0.0),
        Type::Basic(kind) => Val::Sized(kind, 0),
    }
}

/// Built-in `len`.
fn length(item: &Operand) -> Result<Val, FuncError> {
    let length = match &item.val {
        Val::Nil if item.is_interface => return Err(FuncError::new("len of nil pointer")),
        Val::Nil => {
            return Err(FuncError::new("reflect: call of reflect.Value.Type on zero Value"));
        }
        Val::Str(text) | Val::Bytes(text) => Some(text.len()),
        Val::List(list) => Some(list.len()),
        Val::Map(map) => Some(map.len()),
        Val::Object(object) => match object.underlying() {
            Some(Val::Map(map)) => Some(map.len()),
            Some(Val::List(list)) => Some(list.len()),
            Some(Val::Str(text) | Val::Bytes(text)) => Some(text.len()),
            _ => None,
        },
        _ => None,
    };
    match length {
        Some(length) => Ok(Val::Int(i64::try_from(length).unwrap_or(i64::MAX))),
        None => Err(FuncError::Message(format!("len of type {}", item.val.type_name()))),
    }
}
